"""The graph of views: who reads whom, in which order, and whether it has a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import networkx as nx

from headwater.model.error import DefinitionError


def build(sources: Mapping[str, Iterable[str]]) -> nx.DiGraph[str]:
    """The graph with an edge from each source to the view that reads it."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for view, read in sources.items():
        graph.add_node(view)
        graph.add_edges_from((source, view) for source in read)
    return graph


def order(sources: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Each view's position in a topological order that depends on nothing but the graph."""
    ordered = nx.lexicographical_topological_sort(build(sources))
    return {view: position for position, view in enumerate(each for each in ordered if each in sources)}


def readers(sources: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The views that read each table, in name order."""
    graph = build(sources)
    return {table: tuple(sorted(graph.successors(table))) for table in graph if graph.out_degree(table)}


def refuse_cycle(sources: Callable[[str], Iterable[str]], view: str, reads: Iterable[str]) -> None:
    """Looks at the tables upstream alone: a warehouse of many views is declared one view at a time.

    Args:
        sources: what a view reads; nothing of a table that is none.

    Raises:
        DefinitionError: with these reads the view would read itself; it names the views in between.
    """
    readers = dict.fromkeys(reads, view)
    frontier = list(readers)
    while frontier and view not in readers:
        table = frontier.pop()
        new = [each for each in sources(table) if each not in readers]
        readers.update(dict.fromkeys(new, table))
        frontier += new
    if view in readers:
        raise DefinitionError("CYCLE", f"{view} would read itself: {' reads '.join(_cycle(readers, view))}")


def _cycle(readers: Mapping[str, str], view: str) -> list[str]:
    """The tables from a view to itself, by one reader of each."""
    found = [view]
    while len(found) == 1 or found[-1] != view:
        found.append(readers[found[-1]])
    return found[::-1]
