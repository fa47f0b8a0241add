"""Whether a query copies a table: ``SELECT *`` from it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.algebra.derive.query import Reader
from headwater.algebra.derive.relation import source
from headwater.model.format import Format


def copied(description: Mapping[str, Any]) -> str | None:
    """The table with snapshots that a query copies, with all of its columns as they are; ``None``: it does not."""
    node = Reader(description).root
    while node.op in ("Project", "SubqueryAlias") and "view" not in node.facts:
        [child] = node.children
        if node.op == "Project" and tuple(each.expr for each in node.projections) != child.output:
            return None
        node = child
    if node.op != "Relation" or "table" not in node.facts or not Format.of(node.facts["kind"]).snapshots:
        return None
    columns = [each["name"] for each in node.facts["columns"]]
    return source(node) if len(columns) == len(node.output) else None
