"""The cuts that may be best when a single row is left out, for two classes by entropy.

Leaving out weight w of class c raises the score of a cut by what that row surprised its side, so only cuts within
that reach of the best can take its place: a few dozen at a large node. Each is scored without every kind (c, w) of
row, taken from either side; then a row costs a look at these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bins import fill_fine, list_opened
from lazyforest.engine.candidate_sets import HEAVIEST, KINDS, Sets, collect_sets, new_sets
from lazyforest.engine.layout import BINS, BLOCK, EDGES, LOCAL, SHIFT, Array, Scalar, Table, inlined, jit
from lazyforest.engine.nodes import NUMBER, Best, is_empty
from lazyforest.engine.partition import midpoint
from lazyforest.engine.two import SLACK, count_groups, score_two

MOST = 16384  # candidates
PLAIN = 4096  # at a node that weighs no more, convexity is far above the rounding of a score
COUNT, USABLE, LONE = range(3)
NO_SIDE, INVALID, VALID = range(3)


class Candidates(NamedTuple):
    """Numbers by which a kind of row may want to part; a kind is class * HEAVIEST + weight - 1."""

    place: Array  # (3,): how many candidates; whether they are all; may some rows need their own search?
    kinds: Array  # (KINDS,) is there such a row?
    apart: Array  # (KINDS,) the side of the common condition whose rows are searched for by themselves, or NO_SIDE
    least: Array  # (KINDS + 2,) a score that the best condition has without such a row; the lowest of a class
    heaviest: Array  # (2,) the heaviest row of each class, 0: none
    column: Array  # (MOST,)
    lower: Array  # (MOST,) the highest invalid code, and what its rows weigh
    lower_weight: Array
    cut: Array  # (MOST,) the lowest valid code, and what its rows weigh
    cut_weight: Array
    variant: Array  # (MOST,) 1: missing values are valid
    left: Array  # (MOST, 2) weights of the invalid side
    missing: Array  # (columns,) weight of the rows that miss the column
    relevant: Array  # (KINDS, MOST) the candidates of a kind
    n_relevant: Array  # (KINDS,) how many
    scores: Array  # (KINDS, MOST, 2) without a row of the invalid side, of the valid side
    below: Array  # (KINDS, MOST) the best of a stretch up to here, for rows above it
    above: Array  # (KINDS, MOST) the best of a stretch from here, for rows below it
    stretches: Array  # (KINDS, 2 * columns + 1) where each starts: a column and a variant
    n_stretches: Array  # (KINDS,)
    most: Array  # (KINDS, 2 * columns) the highest score of a stretch
    highest: Array  # (KINDS,) the stretch that has the highest
    furthest: Array  # (KINDS,) the most that leaving out such a row raises a score
    sets: Sets


class Cut(NamedTuple):
    """The best candidate for a row."""

    index: Scalar
    score: Scalar


def new_candidates(table: Table, wanted: bool) -> Candidates:
    """Buffers; without room if none are ``wanted``."""
    whole, most = np.int64, MOST if wanted else 0
    return Candidates(
        place=np.zeros(3, dtype=whole),
        kinds=np.zeros(KINDS, dtype=np.bool_),
        apart=np.full(KINDS, NO_SIDE, dtype=np.int8),
        least=np.empty(KINDS + 2),
        heaviest=np.empty(2, dtype=whole),
        column=np.empty(most, dtype=whole),
        lower=np.empty(most, dtype=whole),
        lower_weight=np.empty(most, dtype=whole),
        cut=np.empty(most, dtype=whole),
        cut_weight=np.empty(most, dtype=whole),
        variant=np.empty(most, dtype=whole),
        left=np.empty((most, 2), dtype=whole),
        missing=np.zeros(table.codes.shape[0], dtype=whole),
        relevant=np.empty((KINDS, most), dtype=whole),
        n_relevant=np.zeros(KINDS, dtype=whole),
        scores=np.empty((KINDS, most, 2)),
        below=np.empty((KINDS, most), dtype=np.int32),
        above=np.empty((KINDS, most), dtype=np.int32),
        stretches=np.empty((KINDS, 2 * len(table.codes) + 1), dtype=np.int32),
        n_stretches=np.zeros(KINDS, dtype=whole),
        most=np.empty((KINDS, 2 * len(table.codes))),
        highest=np.zeros(KINDS, dtype=whole),
        furthest=np.empty(KINDS),
        sets=new_sets(int(table.is_category.sum()) if wanted else 0),
    )


@jit
def score_without(kind: Any, a: Any, b: Any, total_a: Any, total_b: Any, from_left: Any, f: Any) -> Any:
    """The score of a cut with a and b on its invalid side when a row of that kind leaves a side.

    Minus infinity if the side does not have such a row, or nothing else.
    """
    w, second = np.int64(kind % HEAVIEST + 1), kind >= HEAVIEST
    own = (b if from_left else total_b - b) if second else (a if from_left else total_a - a)
    side = a + b if from_left else total_a + total_b - a - b
    if own < w or side <= w:
        return -np.inf
    if second:
        total_b -= w
        b -= w if from_left else 0
    else:
        total_a -= w
        a -= w if from_left else 0
    return score_two(np.uint64(a), np.uint64(b), np.uint64(total_a), np.uint64(total_b), f)


@jit
def surprise(w: Any, own: Any, other: Any, f: Any) -> Any:
    """How much leaving out weight w of a class that weighs ``own`` beside ``other`` raises a side's score."""
    return (f[own - w] - f[own]) - (f[own + other - w] - f[own + other])


@jit
def rise(second: Any, w: Any, a: Any, c: Any, b: Any, d: Any, total_a: Any, total_b: Any, f: Any) -> Any:
    """The most that leaving out weight w of a class can raise a cut with a to c and b to d on its invalid side."""
    if second:
        left, right = min(w, d), min(w, total_b - b)  # no more than the side may have
        return max(surprise(left, max(b, left), c, f), surprise(right, max(total_b - d, right), total_a - a, f))
    left, right = min(w, c), min(w, total_a - a)
    return max(surprise(left, max(a, left), d, f), surprise(right, max(total_a - c, right), total_b - b, f))


@inlined
def may_matter(
    bound: Any, a: Any, c: Any, b: Any, d: Any, total_a: Any, total_b: Any, least: Any, heaviest: Any, f: Any
) -> Any:
    """May a cut that scores ``bound`` at most, with a to c and b to d on its invalid side, be best without some row?

    First the heaviest row of each class against the lowest score to be reached: most cuts end there.
    """
    slack = SLACK * (float(total_a + total_b) + abs(bound))
    for second in range(2):
        w = heaviest[second]
        if w == 0:
            continue
        if bound + rise(second, w, a, c, b, d, total_a, total_b, f) < least[KINDS + second] - slack:
            continue
        for kind in range(second * HEAVIEST, second * HEAVIEST + w):
            if least[kind] == np.inf:
                continue
            w_of_kind = np.int64(kind % HEAVIEST + 1)
            if bound + rise(second, w_of_kind, a, c, b, d, total_a, total_b, f) >= least[kind] - slack:
                return True
    return False


@inlined
def find_candidates(node: Any, table: Any, target: Any, search: Any, small: Any, found: Any) -> None:
    """All cuts of the node, whose best condition was just found, that matter for one of ``found.kinds``.

    Without a heavy row of a small side, the best condition may lose so much that nearly all cuts matter. If these are
    too many, rows of such sides are left to a search of their own, and the cuts that matter to the others are found.
    """
    total, n = node.total, node.hi - node.lo
    total_a, total_b = np.int64(total[0]), np.int64(total[1])
    for attempt in range(2):
        found.place[COUNT], found.place[USABLE], found.sets.place[0] = 0, 1, 0
        some_apart = set_least(search.best_left, total_a, total_b, search.f, attempt == 1, found)
        for k in range(search.columns.size):
            j = search.columns[k]
            found.missing[j] = 0
            if table.is_category[j]:
                if n > BLOCK or k < small.listed[0]:
                    collect_sets(table, search, small, found, n, j, k, total_a, total_b)
            elif n <= BLOCK:
                if k < small.listed[0]:
                    list_candidates(table.codes[j], small, small.lists[j], n, total_a, total_b, search.f, found, j)
            else:
                search_bins(node, table, target, search, found, j, k)
        if found.place[USABLE] == 1:
            break
    found.place[LONE] = some_apart
    score_candidates(total_a, total_b, search.f, found)


@jit
def set_least(left: Any, total_a: Any, total_b: Any, f: Any, by_larger_side: Any, found: Any) -> Any:
    """The score that the best condition has without a row of each kind, at least.

    If only rows of the larger side count, others that leave it a lower score are apart; returns whether there are any.
    """
    some_apart, smaller = False, INVALID if 2 * (left[0] + left[1]) < total_a + total_b else VALID
    for second in range(2):
        found.heaviest[second], found.least[KINDS + second] = 0, np.inf
    for kind in range(KINDS):
        found.least[kind], found.apart[kind] = np.inf, NO_SIDE
        if not found.kinds[kind]:
            continue
        one = score_without(kind, left[0], left[1], total_a, total_b, True, f)
        two = score_without(kind, left[0], left[1], total_a, total_b, False, f)
        least, higher = min(one, two), max(one, two)
        if least == -np.inf:
            least = higher
        elif by_larger_side and least < higher and smaller == (INVALID if one < two else VALID):
            least, found.apart[kind], some_apart = higher, smaller, True
        if least > -np.inf:
            second = kind // HEAVIEST
            found.least[kind], found.heaviest[second] = least, kind % HEAVIEST + 1
            found.least[KINDS + second] = min(found.least[KINDS + second], least)
    return some_apart


@jit
def add_candidate(
    found: Any, j: Any, variant: Any, lower: Any, lower_weight: Any, cut: Any, cut_weight: Any, a: Any, b: Any
) -> None:
    at = found.place[COUNT]
    if at == MOST:
        found.place[USABLE] = 0
        return
    found.column[at], found.variant[at], found.left[at, 0], found.left[at, 1] = j, variant, a, b
    found.lower[at], found.lower_weight[at], found.cut[at], found.cut_weight[at] = lower, lower_weight, cut, cut_weight
    found.place[COUNT] = at + 1


@jit
def list_candidates(
    codes: Any, small: Any, words: Any, n: Any, total_a: Any, total_b: Any, f: Any, found: Any, j: Any
) -> None:
    """The candidates of a column, along its sorted list.

    Between values that are all of one class the score is convex, so no cut there is best, whichever row leaves.
    """
    mixed = total_a + total_b > PLAIN
    first, row, weight, y = 0, small.row, small.weight, small.y
    missing_a, missing_b = np.int64(0), np.int64(0)
    while first < n and (words[first] >> SHIFT) == 0:
        local = words[first] & LOCAL
        missing_a += np.int64(weight[local]) * (1 - np.int64(y[local]))
        missing_b += np.int64(weight[local]) * np.int64(y[local])
        first += 1
    found.missing[j] = missing_a + missing_b
    for variant in range(1 if first == 0 else 2):
        a, b = (missing_a, missing_b) if variant == 0 else (np.int64(0), np.int64(0))
        start, last_a, last_b = first, np.int64(1), np.int64(1)
        while start < n:
            stop, here_a, here_b = start, np.int64(0), np.int64(0)
            while stop < n and (words[stop] >> SHIFT) == (words[start] >> SHIFT):
                local = words[stop] & LOCAL
                here_a += np.int64(weight[local]) * (1 - np.int64(y[local]))
                here_b += np.int64(weight[local]) * np.int64(y[local])
                stop += 1
            if a + b > 0 and (mixed or (last_a + here_a > 0 and last_b + here_b > 0)):
                cut = np.int64(codes[row[words[start] & LOCAL]])
                score = score_two(np.uint64(a), np.uint64(b), np.uint64(total_a), np.uint64(total_b), f)
                if may_matter(score, a, a, b, b, total_a, total_b, found.least, found.heaviest, f):
                    lower, lower_weight = np.int64(0), np.int64(0)
                    if start > first:
                        lower, lower_weight = np.int64(codes[row[words[start - 1] & LOCAL]]), last_a + last_b
                    add_candidate(found, j, variant, lower, lower_weight, cut, here_a + here_b, a, b)
            a, b, last_a, last_b, start = a + here_a, b + here_b, here_a, here_b, stop


@jit
def search_bins(node: Any, table: Any, target: Any, search: Any, found: Any, j: Any, slot: Any) -> None:
    """The candidates of a column, whose histogram is still there."""
    sums, missing, f = search.histogram[slot, : search.n_bins[slot]], search.missing[slot], search.f
    total_a, total_b = np.int64(node.total[0]), np.int64(node.total[1])
    found.missing[j] = missing[0] + missing[1]
    variants = 1 if is_empty(missing, 2) else 2
    n_opened = np.int64(0)
    search.opened[:] = False
    for variant in range(variants):
        more_a, more_b = (missing[0], missing[1]) if variant == 0 else (np.int64(0), np.int64(0))
        for group in range(count_groups(sums.shape[0])):
            lo, hi = EDGES[group], min(EDGES[group + 1], sums.shape[0] - 1)
            one, two = more_a + np.int64(sums[lo, 0]), more_b + np.int64(sums[lo, 1])
            c, d = more_a + np.int64(sums[hi, 0]), more_b + np.int64(sums[hi, 1])
            if not reaches(one, c, two, d, total_a, total_b, found.least, found.heaviest, f):
                continue
            for b in range(lo + 1, hi + 1):
                c, d = more_a + np.int64(sums[b, 0]), more_b + np.int64(sums[b, 1])
                if not search.opened[b] and reaches(one, c, two, d, total_a, total_b, found.least, found.heaviest, f):
                    search.opened[b] = True
                    n_opened += 1
                one, two = c, d
    if n_opened == 0:
        return
    exact = table.first_code[j, BINS] <= BINS
    if not exact:
        list_opened(search.opened, sums.shape[0], search.listed)
        fill_fine(node, table, target, search, None, j, n_opened)
    for variant in range(variants):
        more_a, more_b = (missing[0], missing[1]) if variant == 0 else (np.int64(0), np.int64(0))
        bin_candidates(sums, search, exact, variant, more_a, more_b, total_a, total_b, found, j)


@inlined
def reaches(a: Any, c: Any, b: Any, d: Any, total_a: Any, total_b: Any, least: Any, heaviest: Any, f: Any) -> Any:
    """May bins, whose ends have a to c and b to d below them, hold or border on a cut that matters?"""
    if a == c and b == d:
        return False
    x, y = np.uint64(total_a), np.uint64(total_b)
    bound = max(
        max(score_two(np.uint64(a), np.uint64(b), x, y, f), score_two(np.uint64(c), np.uint64(d), x, y, f)),
        max(score_two(np.uint64(a), np.uint64(d), x, y, f), score_two(np.uint64(c), np.uint64(b), x, y, f)),
    )
    return may_matter(bound, a, c, b, d, total_a, total_b, least, heaviest, f)


@jit
def bin_candidates(
    sums: Any,
    search: Any,
    exact: Any,
    variant: Any,
    more_a: Any,
    more_b: Any,
    total_a: Any,
    total_b: Any,
    found: Any,
    j: Any,
) -> None:
    """The candidates among the cuts of the opened bins. The bin below a candidate is open too: it borders on it."""
    opened, fine, codes, f = search.opened, search.fine, search.fine_codes, search.f
    lower, lower_weight = np.int64(0), np.int64(0)
    for b in range(1, sums.shape[0]):
        if not opened[b]:
            weight = np.int64(sums[b, 0]) - np.int64(sums[b - 1, 0]) + np.int64(sums[b, 1]) - np.int64(sums[b - 1, 1])
            if weight > 0:
                lower, lower_weight = np.int64(-1), weight
            continue
        one, two = more_a + np.int64(sums[b - 1, 0]), more_b + np.int64(sums[b - 1, 1])
        for k in range(np.int64(b) if exact else search.starts[b], np.int64(b + 1) if exact else search.stops[b]):
            here_a = np.int64(sums[b, 0]) - np.int64(sums[b - 1, 0]) if exact else np.int64(fine[k, 0])
            here_b = np.int64(sums[b, 1]) - np.int64(sums[b - 1, 1]) if exact else np.int64(fine[k, 1])
            if here_a + here_b == 0:
                continue
            cut = np.int64(k) if exact else np.int64(codes[k])
            if one + two > 0:
                score = score_two(np.uint64(one), np.uint64(two), np.uint64(total_a), np.uint64(total_b), f)
                if may_matter(score, one, one, two, two, total_a, total_b, found.least, found.heaviest, f):
                    add_candidate(found, j, variant, lower, lower_weight, cut, here_a + here_b, one, two)
            one, two, lower, lower_weight = one + here_a, two + here_b, cut, here_a + here_b


@jit
def score_candidates(total_a: Any, total_b: Any, f: Any, found: Any) -> None:
    """For each kind, the candidates that matter to it."""
    for kind in range(KINDS):
        found.n_relevant[kind] = 0
        if found.least[kind] == np.inf:
            found.n_stretches[kind] = 0
            continue
        w, second = np.int64(kind % HEAVIEST + 1), kind >= HEAVIEST
        found.furthest[kind] = surprise(w, w, total_a if second else total_b, f)
        slack = SLACK * (float(total_a + total_b) + abs(found.least[kind]))
        for i in range(found.place[COUNT]):
            a, b = found.left[i, 0], found.left[i, 1]
            one = score_without(kind, a, b, total_a, total_b, True, f)
            two = score_without(kind, a, b, total_a, total_b, False, f)
            if max(one, two) >= found.least[kind] - slack:
                at = found.n_relevant[kind]
                found.relevant[kind, at], found.scores[kind, at, 0], found.scores[kind, at, 1] = i, one, two
                found.n_relevant[kind] = at + 1
        find_stretches(found, kind)


@inlined
def find_stretches(found: Any, kind: Any) -> None:
    """Candidates come by column, then variant, then cut; the best of a stretch up to or from each of them."""
    n, relevant, scores = found.n_relevant[kind], found.relevant[kind], found.scores[kind]
    starts, count = found.stretches[kind], 0
    for k in range(n):
        i, last = relevant[k], relevant[k - 1]
        if k == 0 or found.column[i] != found.column[last] or found.variant[i] != found.variant[last]:
            starts[count] = k
            count += 1
    starts[count] = n
    found.n_stretches[kind] = count
    for stretch in range(count):
        first, last, best = starts[stretch], starts[stretch + 1], starts[stretch]
        for k in range(first, last):
            best = k if scores[k, 1] > scores[best, 1] else best
            found.below[kind, k] = best
        most, best = scores[best, 1], last - 1
        for k in range(last - 1, first - 1, -1):
            best = k if scores[k, 0] >= scores[best, 0] else best
            found.above[kind, k] = best
        found.most[kind, stretch] = max(most, scores[best, 0])
        if stretch == 0 or found.most[kind, stretch] > found.most[kind, found.highest[kind]]:
            found.highest[kind] = stretch


@inlined
def best_candidate(found: Any, kind: Any, codes: Any, r: Any) -> Any:
    """The best candidate for row r: highest score, lowest column, lowest cut, missing values invalid."""
    highest, best = -np.inf, np.int64(-1)
    relevant, scores, starts, cuts = found.relevant[kind], found.scores[kind], found.stretches[kind], found.cut
    below, above, most, promising = found.below[kind], found.above[kind], found.most[kind], found.highest[kind]
    n_stretches = found.n_stretches[kind]
    for turn in range(-1 if n_stretches > 0 else 0, n_stretches):
        stretch = promising if turn < 0 else turn
        if most[stretch] < highest or turn == promising:
            continue
        first, last = np.int64(starts[stretch]), np.int64(starts[stretch + 1])
        i = relevant[first]
        code = np.int64(codes[found.column[i], r])
        middle, end = first, last  # the cuts before ``middle`` are at most the code: there the row is valid
        if code == 0:
            middle = last if found.variant[i] == 1 else first
        else:
            if code < cuts[i]:
                end = first
            elif code >= cuts[relevant[last - 1]]:
                middle = last
            while middle < end:
                half = (middle + end) >> 1
                if cuts[relevant[half]] <= code:
                    middle = half + 1
                else:
                    end = half
        for side in range(2):
            if (side == 1 and middle == first) or (side == 0 and middle == last):
                continue
            k = below[middle - 1] if side == 1 else above[middle]
            score, i = scores[k, side], relevant[k]
            if score > highest:
                highest, best = score, i
            elif score == highest and best >= 0:
                j, here = found.column[best], found.column[i]
                if here < j or (
                    here == j
                    and (cuts[i] < cuts[best] or (cuts[i] == cuts[best] and found.variant[i] < found.variant[best]))
                ):
                    best = i
    return Cut(best, highest)


@inlined
def as_condition(found: Any, cut: Any, codes: Any, rows: Any, lo: Any, hi: Any, r: Any, w: Any) -> Any:
    """The candidate as the row that is left out sees it: a code that it has alone is not there."""
    i = cut.index
    j, lower, upper = found.column[i], found.lower[i], found.cut[i]
    code = np.int64(codes[j, r])
    if (code == lower and found.lower_weight[i] == w) or (code == upper and found.cut_weight[i] == w):
        lower, upper = np.int64(0), np.int64(1) << 62
        for k in range(lo, hi):
            other = np.int64(codes[j, rows[k]])
            if rows[k] != r and other > 0:
                if other < found.cut[i]:
                    lower = max(lower, other)
                else:
                    upper = min(upper, other)
    return Best(cut.score, j, lower, upper, found.variant[i] == 1, found.missing[j] > 0, NUMBER)


@jit
def threshold_of(table: Any, best: Any) -> Any:
    if best.lower == 0:
        return -np.inf
    start = table.value_start[best.column] - 1
    return midpoint(table.values[start + best.lower], table.values[start + best.cut])
