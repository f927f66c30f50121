"""The engine: plain numba functions over arrays. It never sees a data frame, a message or a random state."""
