"""Pictures of explorations, in the manner of the paper's Figure 1. Needs matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lazyforest.exploration import rounded
from lazyforest.trees import OpenedNode, opened_nodes

BOX, DOT, GAP = 2.0, 0.22, 0.22  # widths in inches: of a node that was opened, of one that was not, between two
LEVEL = 0.95  # inches from a node to its children
ABOVE, BELOW = 0.65, 0.8  # inches around the first and the last
LETTERS, LINES = 30, 3  # of a condition, in a box
SIZE = 7.5  # of the letters
GREY, INK, PAPER, NUMBER, ROW = "#c4c4c4", "#333333", "#eef3fb", "#1f5fbf", "#c2410c"


@dataclass
class Drawn:
    """A node in the picture; ``node`` is None for one that was not opened. ``x`` is relative to its parent."""

    node: OpenedNode | None
    children: list[Drawn] = field(default_factory=list)
    x: float = 0.0

    @property
    def width(self) -> float:
        return DOT if self.node is None else BOX


def plot_exploration(forest: Any, X: Any, trees: Sequence[int] = (0,), names: Sequence[str] | None = None) -> Any:
    """Draw the nodes that the rows of X open together in some trees of a fitted forest.

    Opened nodes carry the number of their turn, those never opened are grey, and each row is named where it ends.
    ``names`` are the names of the rows, A, B... by default. Returns a matplotlib Figure.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("A picture needs matplotlib. Use: pip install 'lazyforest[plot]'") from error
    opened = [opened_nodes(forest, X, tree) for tree in trees]
    roots = [arrange(nodes) for nodes in opened]
    spans = [span(root) for root in roots]
    depths = [depth(root) for root in roots]
    widths, height = [high - low for low, high in spans], ABOVE + LEVEL * (max(depths) - 1) + BELOW
    names = names or [chr(ord("A") + row % 26) for row in range(sum(len(node.ends) for node in opened[0]))]
    figure = Figure(figsize=(sum(widths) + 0.6 * len(roots), height))
    left = 0.0
    for tree, root, (low, high) in zip(trees, roots, spans, strict=True):
        share = (high - low + 0.6) / figure.get_figwidth()
        axes = figure.add_axes((left, 0.0, share, 1.0))
        axes.set(xlim=(low - 0.3, high + 0.3), ylim=(ABOVE - height, ABOVE))
        axes.axis("off")
        axes.text((low + high) / 2, 0.5, f"tree {tree}", ha="center", weight="bold", size=SIZE + 1.5)
        draw(axes, root, 0.0, 0.0, names)
        left += share
    caption = "Numbers: the order in which nodes were opened. Grey: never opened."
    figure.text(0.5, 0.08 / height, caption, ha="center", size=SIZE - 0.5, color="#777777")
    return figure


def arrange(nodes: list[OpenedNode]) -> Drawn:
    """The tree of opened nodes, each condition with two children, set as close as their outlines allow."""
    drawn = [Drawn(node) for node in nodes]
    for node, parent in ((node, drawn[node.parent]) for node in nodes if node.parent is not None):
        parent.children = parent.children or [Drawn(None), Drawn(None)]
        parent.children[int(bool(node.side))] = drawn[node.number]
    set_apart(drawn[0])
    return drawn[0]


def set_apart(at: Drawn) -> list[tuple[float, float]]:
    """Place the children of a node to its left and right; returns its outline: left and right edge per level."""
    own = [(-at.width / 2, at.width / 2)]
    if not at.children:
        return own
    left, right = (set_apart(child) for child in at.children)
    apart = max(l_edge[1] - r_edge[0] for l_edge, r_edge in zip(left, right, strict=False)) + GAP
    at.children[0].x, at.children[1].x = -apart / 2, apart / 2
    both = []
    for level in range(max(len(left), len(right))):
        edges = [(low - apart / 2, high - apart / 2) for low, high in left[level : level + 1]]
        edges += [(low + apart / 2, high + apart / 2) for low, high in right[level : level + 1]]
        both.append((min(low for low, _ in edges), max(high for _, high in edges)))
    return own + both


def span(at: Drawn, x: float = 0.0) -> tuple[float, float]:
    """The left and the right edge of a tree."""
    parts = [(x - at.width / 2, x + at.width / 2), *(span(child, x + child.x) for child in at.children)]
    return min(low for low, _ in parts), max(high for _, high in parts)


def depth(at: Drawn) -> int:
    return 1 + max((depth(child) for child in at.children), default=0)


def draw(axes: Any, at: Drawn, x: float, y: float, names: Sequence[str]) -> None:
    for child, answer in zip(at.children, ("no", "yes"), strict=False):
        colour = GREY if child.node is None else INK
        axes.plot([x, x + child.x], [y, y - LEVEL], color=colour, lw=1.0, zorder=1)
        place = {"ha": "right" if child.x < 0 else "left", "va": "center", "size": SIZE - 1, "color": colour}
        axes.text(x + 0.5 * child.x, y - 0.42 * LEVEL, f" {answer} ", **place)
        draw(axes, child, x + child.x, y - LEVEL, names)
    if at.node is None:
        axes.plot([x], [y], "o", color=GREY, ms=7, zorder=2)
    else:
        draw_opened(axes, at.node, x, y, names)


def draw_opened(axes: Any, node: OpenedNode, x: float, y: float, names: Sequence[str]) -> None:
    leaf = node.condition is None
    text = f"votes {say_vote(node.vote)}" if leaf else rounded(str(node.condition))
    lines = textwrap.wrap(text, LETTERS, max_lines=LINES, placeholder="...", break_on_hyphens=False) or [text]
    label = "\n".join([*lines, "1 row" if node.rows == 1 else f"{node.rows:,} rows"])
    style = {"boxstyle": "round,pad=0.35", "fc": "white" if leaf else PAPER, "ec": INK, "lw": 1.4 if leaf else 0.8}
    plain = {"size": SIZE, "parse_math": False}  # names may have dollars in them
    box = axes.text(x, y, label, ha="center", va="center", color=INK, bbox=style, zorder=3, **plain)
    bold = {"xycoords": box, "textcoords": "offset points", "weight": "bold", "zorder": 4}
    axes.annotate(str(node.number + 1), (1, 0.5), (7, 0), va="center", color=NUMBER, size=SIZE + 1, **bold)
    if node.ends:
        ended = textwrap.shorten(", ".join(names[row] for row in node.ends), LETTERS, placeholder="...")
        axes.annotate(ended, (0.5, 0), (0, -7), ha="center", va="top", color=ROW, **plain, **bold)


def say_vote(vote: Any) -> str:
    if isinstance(vote, dict):
        return ", ".join(f"{label} {share:.2f}" for label, share in vote.items())
    return f"{vote:g}" if isinstance(vote, float) else str(vote)
