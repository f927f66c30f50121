"""How good is a forest on rows that it has not seen, when there are only 178 rows to learn from and to test on?"""

import numpy as np
from sklearn.datasets import load_wine

from lazyforest import LazyForestClassifier, leave_one_out

Z = 1.96  # two-sided 95%


def wilson(right, n):
    """Wilson's interval for a share: unlike the usual one it stays within 0 and 1, also for few rows."""
    share, width = right / n, Z / (1 + Z**2 / n) * np.sqrt(right / n * (1 - right / n) / n + Z**2 / (4 * n**2))
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    return centre - width, centre + width


def main():
    X, y = load_wine(return_X_y=True, as_frame=True)
    forest = LazyForestClassifier(n_estimators=100, random_state=0)

    seen = (forest.fit(X, y).predict(X) == y).sum()
    unseen = (leave_one_out(forest, X, y, method="predict") == y).sum()

    print(f"Wine: {len(X)} rows, {X.shape[1]} columns, {y.nunique()} classes. 100 trees.")
    print(f"{'asked about rows that it learnt from':40}{seen / len(X):7.1%} right")
    low, high = wilson(unseen, len(X))
    print(f"{'each row left out in turn':40}{unseen / len(X):7.1%} right, 95% interval {low:.1%} to {high:.1%}")
    print("The second is honest: no row helped to predict itself. The interval takes rows as independent draws.")


if __name__ == "__main__":
    main()
