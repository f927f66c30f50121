"""The paper's Figure 1: in which order the three listings explore one small tree for two unlabeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.work import read_table
from lazyforest import reference
from lazyforest.reference import CHILD, Settings, mix, root_key

DEPTH, SEED = 3, 0
A, B = 38, 39  # rows of Breast: they fail the first condition together and part at the second
LISTINGS = {
    "eager": reference.eager_forest,
    "lazy": reference.lazy_forest,
    "batched lazy": reference.batched_lazy_forest,
}


def trace_example() -> dict[str, Any]:
    """The nodes that each listing opens, in its order; a node is named by the way to it, 0 for no and 1 for yes."""
    frame, y = read_table("breast", None)
    X = frame.to_numpy(dtype=np.float64)
    pair = [A, B]
    T = reference.table(np.delete(X, pair, axis=0), np.delete(y, pair), 2)
    settings = Settings(n_estimators=1, max_depth=DEPTH, bootstrap=False, seed=SEED)
    ways = name_nodes(root_key(SEED, 0), "")
    steps = {name: [ways[key] for _, key in listing(T, X[pair], settings).nodes] for name, listing in LISTINGS.items()}
    again = steps["lazy"].index("", 1)  # where the lazy tree starts anew, for B
    ends = {"A": steps["lazy"][again - 1], "B": steps["lazy"][-1]}
    return {"data": "breast", "depth": DEPTH, "steps": steps, "ends": ends}


def name_nodes(key: int, way: str) -> dict[int, str]:
    """All nodes that a tree of this depth may have, by their keys."""
    found = {key: way}
    if len(way) < DEPTH:
        for side in (0, 1):
            found |= name_nodes(mix(key, CHILD + side), f"{way}{side}")
    return found
