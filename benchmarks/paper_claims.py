"""The paper's claims, each with its numbers from a run and a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks import published
from benchmarks.paper_cells import BL_DT, DT, L_DT, SHARED
from benchmarks.paper_results import TITLES, Results, rounded, wrapped


def list_claims(results: Results) -> list[str]:
    claims = [
        one_row,
        fewer_nodes,
        same_nodes,
        lazy_is_slow,
        crossing,
        batched_is_faster,
        nodes_and_time,
        memory,
        beyond,
    ]
    return [claim(results, number) for number, claim in enumerate(claims, start=1)]


def verdict(results: Results, holds: Callable[[str], bool]) -> str:
    held = [TITLES[name] for name in results.names if holds(name)]
    failed = [TITLES[name] for name in results.names if not holds(name)]
    if not failed:
        return "**Held** on all."
    if not held:
        return "**Did not hold** on any."
    return f"**Held** on {', '.join(held)}. **Did not hold** on {', '.join(failed)}."


def claim(number: int, title: str, paper: str, here: str, outcome: str, why: str) -> str:
    points = [f"- Paper: {paper}", f"- Here: {here}", f"- {outcome} {why}".rstrip()]
    return "\n".join([f"### {number}. {title}\n", *map(wrapped, points), ""])


def paper_ratios(folds: int, more: int, less: int) -> str:
    ratios = {name: paper.folds[folds][more] / paper.folds[folds][less] for name, paper in published.TABLES.items()}
    return ", ".join(
        f"{name.capitalize() if name != 'c2u' else 'C2U'} {rounded(ratio)}" for name, ratio in ratios.items()
    )


def one_row(results: Results, number: int) -> str:
    low, high = published.RATIOS
    shares = results.each(lambda name: f"{encoding_share(results, name):.0%}")
    return claim(
        number,
        "One row is cheaper lazily than eagerly",
        f"{low} to {high} times.",
        f"{results.each(lambda name: rounded(results.ratio(name)))} times.",
        verdict(results, lambda name: results.ratio(name) > 1),
        f"Both pay for encoding the table, which takes these shares of the lazy seconds: {shares}. "
        f"Above it, a lazy path in a large table is searched in all bootstraps at once, an eager tree is not.",
    )


def encoding_share(results: Results, name: str) -> float:
    cell = results.left_out(name, BL_DT)
    return float(cell["fit"]) / float(cell["cpu"])


def fewer_nodes(results: Results, number: int) -> str:
    def fewest(name: str) -> float:
        return min(results.times(name, folds, "nodes", DT, BL_DT) for folds in results.folds(name))

    few = results.plan["folds"][0]
    least = results.each(lambda name: f"{results.times(name, few, 'nodes', DT, BL_DT):.2f}")
    most = results.each(lambda name: rounded(results.times(name, results.rows(name), "nodes", DT, BL_DT)))
    return claim(
        number,
        "The batched lazy tree explores fewer nodes than the eager one",
        "with any number of folds.",
        f"DT / BL-DT with {few} folds: {least}; with leave-one-out: {most}.",
        verdict(results, lambda name: fewest(name) > 1),
        "It follows from the listings that no node is opened which the eager tree does not have. Where trees are tiny "
        "and folds large, every node has an unlabeled row, and the two open equally many.",
    )


def same_nodes(results: Results, number: int) -> str:
    def same(name: str) -> bool:
        return bool(results.left_out(name, L_DT)["nodes"] == results.left_out(name, BL_DT)["nodes"])

    ratios = results.each(lambda name: f"{results.times(name, results.rows(name), 'cpu', L_DT, BL_DT):.2f}")
    return claim(
        number,
        "At leave-one-out the lazy and the batched lazy tree are the same",
        "equal nodes, equal time, and both faster than the eager tree.",
        f"nodes are compared as whole numbers. CPU time L-DT / BL-DT: {ratios}.",
        verdict(results, same),
        "A batch of one row is a lazy tree; what the seconds differ by is noise.",
    )


def lazy_is_slow(results: Results, number: int) -> str:
    times = partial(results.times, folds=10, measure="cpu", more=L_DT)
    return claim(
        number,
        "With few folds the lazy tree is impractical",
        f"10 folds, L-DT / DT: {paper_ratios(10, 1, 0)}.",
        f"{results.each(lambda name: rounded(times(name, less=DT)))}.",
        verdict(results, lambda name: times(name, less=DT) > 1),
        "It starts anew for every row.",
    )


def crossing(results: Results, number: int) -> str:
    """n lazy rows cost as much as so many eager fits."""

    def folds(name: str) -> float:
        return results.rows(name) / results.ratio(name)

    found = results.each(lambda name: f"{folds(name):,.0f} of {results.rows(name):,}")
    return claim(
        number,
        "The lazy tree overtakes the eager one when folds are many",
        f"Breast: from {published.BREAST_CROSSING} folds of 569.",
        f"rows divided by the ratio of one row: {found}.",
        verdict(results, lambda name: folds(name) < results.rows(name)),
        "The number is an estimate, for fits on fewer rows cost less.",
    )


def batched_is_faster(results: Results, number: int) -> str:
    many = [folds for folds in results.plan["folds"] if folds in (10, 40)]

    def saved(name: str, folds: int) -> str:
        return f"{results.times(name, folds, 'cpu', DT, BL_DT):.2f}"

    here = [f"{folds} folds {results.each(partial(saved, folds=folds))}" for folds in many]
    paper = [f"{folds} folds {paper_ratios(folds, 0, 2)}" for folds in many]

    losses = {
        name: [folds for folds in results.plan["folds"] if results.times(name, folds, "cpu", DT, BL_DT) <= 1]
        for name in results.names
    }
    lost = [f"{TITLES[name]} with {', '.join(map(str, folds))}" for name, folds in losses.items() if folds]
    slower = f" Of all numbers of folds in Figure 2, slower: {'; '.join(lost)}." if lost else ""
    return claim(
        number,
        "The batched lazy tree is faster than the eager one with up to 100 folds",
        f"DT / BL-DT: {'; '.join(paper)}. So not on Gamma and Breast, which the paper says itself.",
        f"{'; '.join(here)}.{slower}",
        verdict(results, lambda name: not losses[name]),
        "Where a fold holds many rows, most nodes have one of them, and "
        "the batched tree saves few; where encoding is most of the time, both pay it.",
    )


def nodes_and_time(results: Results, number: int) -> str:
    def pair(name: str) -> tuple[float, float]:
        return results.times(name, 40, "nodes", DT, BL_DT), results.times(name, 40, "cpu", DT, BL_DT)

    return claim(
        number,
        "Nodes fall more than time does",
        "the nodes that are saved are at the bottom, where few rows are left and a search is cheap.",
        f"40 folds, DT / BL-DT in nodes and in CPU time: "
        f"{results.each(lambda name: ' and '.join(f'{ratio:.2f}' for ratio in pair(name)))}.",
        verdict(results, lambda name: pair(name)[0] > pair(name)[1]),
        "",
    )


def memory(results: Results, number: int) -> str:
    def stacks(name: str) -> list[int]:
        return [results.memory(name, algorithm)["stack_words"] for algorithm in (L_DT, BL_DT, DT)]

    def ordered(name: str) -> bool:
        lazy, batched, eager = stacks(name)
        return bool(lazy < batched < eager < results.model_words(name))

    return claim(
        number,
        "Stack: lazy below batched lazy below eager, and all far below the model",
        "on all five.",
        f"model / stack of DT: {results.each(lambda name: rounded(results.model_words(name) / stacks(name)[2]))}.",
        verdict(results, ordered),
        "The batched tree holds the indices of its unlabeled rows too, at every level, and they weigh more here, for a "
        "bag holds its distinct rows alone. Where they outweigh what it saves by holding one side of a node at a time, "
        "it is above the eager tree.",
    )


def beyond(results: Results, number: int) -> str:
    def gain(measure: str) -> str:
        return results.each(lambda name: rounded(results.times(name, results.rows(name), measure, BL_DT, SHARED)))

    return claim(
        number,
        "Not in the paper: folds that share one exploration",
        "leave-one-out costs n lazy trees.",
        f"leave-one-out, BL-DT / shared folds in CPU time: {gain('cpu')}; in nodes: {gain('nodes')}.",
        "Why:",
        "rows travel together until leaving one of them out changes the best condition "
        "([leave-one-out.md](leave-one-out.md)).",
    )
