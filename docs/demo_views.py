"""Draws the graph of the demo's views: ``.venv/bin/python docs/demo_views.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from attrs import frozen
from sqlglot import exp, parse_one

from headwater.algebra import graph
from headwater.demo.days import MONTHS, View, read_views

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 44, 70, 22, 16
SOURCE_FILL, VIEW_FILL, LINE, TEXT = "#e8eef4", "#dff0df", "#7a8a99", "#1f2933"


@frozen
class Box:
    """One table: its name, its partition column, and its position in the picture."""

    name: str
    column: str | None
    is_view: bool
    x: int
    y: int


def draw(views: Sequence[View]) -> str:
    """The graph as SVG: sources at the left, each view right of its sources."""
    sources = {view.name: _reads(view) for view in views}
    boxes = _laid_out(views, sources)
    arrows = [_arrow(boxes[read], boxes[view]) for view, reads in sources.items() for read in reads]
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.y for box in boxes.values()) + HEIGHT + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{LINE}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *arrows,
            *map(_draw_box, boxes.values()),
            "</svg>\n",
        ]
    )


def _reads(view: View) -> list[str]:
    return sorted({table.name for table in parse_one(view.query, read="spark").find_all(exp.Table)})


def _laid_out(views: Sequence[View], sources: Mapping[str, Sequence[str]]) -> dict[str, Box]:
    columns = {view.name: view.column for view in views} | MONTHS
    level: dict[str, int] = {}
    for view in graph.order(sources):
        level[view] = 1 + max(level.get(read, 0) for read in sources[view])
    tables = sorted({read for reads in sources.values() for read in reads} - set(sources)) + list(level)
    rows: dict[int, int] = {}
    boxes = {}
    deepest = max(sum(level.get(t, 0) == n for t in tables) for n in range(max(level.values()) + 1))
    for table in tables:
        at = level.get(table, 0)
        count = sum(level.get(each, 0) == at for each in tables)
        row = rows.get(at, 0)
        rows[at] = row + 1
        y = MARGIN + round((row + (deepest - count) / 2) * (HEIGHT + GAP_Y))
        boxes[table] = Box(table, columns.get(table), table in level, MARGIN + at * (WIDTH + GAP_X), y)
    return boxes


def _arrow(start: Box, end: Box) -> str:
    x1, y1, x2, y2 = start.x + WIDTH, start.y + HEIGHT // 2, end.x, end.y + HEIGHT // 2
    bend = (x2 - x1) // 2
    path = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.1" marker-end="url(#tip)"/>'


def _draw_box(box: Box) -> str:
    fill = VIEW_FILL if box.is_view else SOURCE_FILL
    name = escape(box.name)
    below = f"by {box.column}" if box.column else "unpartitioned"
    middle = box.x + WIDTH // 2
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{middle}" y="{box.y + 19}" text-anchor="middle" font-size="13" fill="{TEXT}">{name}</text>'
        f'<text x="{middle}" y="{box.y + 35}" text-anchor="middle" font-size="10" fill="{LINE}">{escape(below)}</text>'
    )


if __name__ == "__main__":
    Path(__file__).with_name("demo-views.svg").write_text(draw(read_views()))
