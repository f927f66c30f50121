"""What the paper printed, its Tables 1 to 3: arXiv 1603.02578. The only place for these numbers."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    rows: int
    columns: int  # with the class
    kilobytes: int
    one_row: tuple[float, float, float]  # CPU seconds: DT; L-DT and BL-DT; the ratio
    folds: dict[int, tuple[float, float, float]]  # CPU seconds of so many folds: DT, L-DT, BL-DT
    words: tuple[int, int, int, int]  # stack of DT, L-DT, BL-DT; model of DT


BOOTSTRAPS = 100
RATIOS = 1.4, 8.0  # of one row, eager over lazy: the least and the most
BREAST_CROSSING = 390  # folds from which the lazy tree is faster than the eager one
TABLES = {
    "breast": Published(
        569, 31, 118, (0.066, 0.045, 1.5), {10: (0.58, 23.20, 0.69), 40: (2.57, 26.62, 2.68)}, (2562, 1036, 1934, 13000)
    ),
    "adult": Published(
        32561,
        15,
        1194,
        (4.708, 0.924, 5.1),
        {10: (59.64, 30081, 52.06), 40: (314.97, 30081, 254.02)},
        (214435, 89620, 170549, 1243262),
    ),
    "gamma": Published(
        19020,
        11,
        1443,
        (6.105, 2.210, 2.8),
        {10: (55.46, 42042, 71.99), 40: (243.30, 42042, 286.73)},
        (148078, 34582, 139098, 927200),
    ),
    "all": Published(
        129,
        12626,
        26780,
        (0.245, 0.172, 1.4),
        {10: (2.28, 20.89, 2.17), 40: (9.78, 22.15, 8.64)},
        (499, 234, 372, 3076),
    ),
    "c2u": Published(
        2695,
        212,
        1139,
        (1.008, 0.126, 8.0),
        {10: (9.25, 340.82, 6.37), 40: (40.50, 340.82, 21.22)},
        (15489, 4900, 11683, 312217),
    ),
}
