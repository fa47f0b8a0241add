"""Why a query cannot be a materialized view: its result is not determined by its sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from headwater.algebra.derive.image import VOLATILE
from headwater.algebra.derive.query import Attr, Call, Expr, Lit, Node, display
from headwater.algebra.derive.relation import short, source
from headwater.algebra.derive.specification import is_of, is_open
from headwater.model.format import DEFAULT, Format


@frozen
class Refusal:
    """A refusal: ``code`` for programs, ``sentence`` for a person."""

    code: str
    sentence: str


def problems(
    root: Node, clock: Iterable[str], patterns: Iterable[str], options: Iterable[str] = ()
) -> tuple[Refusal, ...]:
    """Every problem once, in the order met from the sources up.

    Args:
        clock: parts of the query, and of the views and functions that it uses, that Spark replaces by the date or the
            time of the analysis.
        patterns: patterns of paths in them.
        options: tables that they read with options.
    """
    found = [each for node in root.walk() for each in _of(node)]
    found += [Refusal("nondeterministic", f"`{text}` {_CLOCK}") for text in clock]
    found += [Refusal("path_pattern", f"{text} {_PATTERN}") for text in patterns]
    found += [Refusal("options", f"{text} {_OPTIONS}") for text in options]
    return tuple(dict.fromkeys(found))


def _of(node: Node) -> Iterator[Refusal]:
    match node.op:
        case "Relation":
            yield from _of_source(node)
        case "View" if node.facts["temporary"]:
            name = short(node.facts["name"])
            yield Refusal("temporary_view", f"`{name}` is a temporary view, which other sessions cannot read")
        case "SubqueryAlias" if "view" in node.facts:
            name = short(node.facts["view"])
            yield Refusal(
                "foreign_view",
                f"`{name}` is a view of another catalog, whose text Headwater does not follow; make it an ordinary "
                "view of the session catalog",
            )
        case "ScriptTransformation":
            yield Refusal(
                "script", "TRANSFORM runs a program, which may give other rows at each evaluation; use SQL or a job"
            )
        case "Sample":
            yield Refusal("sample", "TABLESAMPLE picks other rows at each evaluation")
        case "GlobalLimit" | "Offset" | "Tail" if not _ordered(node):
            name = "LIMIT" if node.op == "GlobalLimit" else node.op.upper()
            yield Refusal(
                "unordered_limit", f"{name} without ORDER BY directly beneath it keeps other rows at each evaluation"
            )
    for expression in node.expressions():
        for culprit in culprits(expression):
            yield Refusal("nondeterministic", _sentence(culprit))


def _of_source(node: Node) -> Iterator[Refusal]:
    name, kind, file_format = short(source(node)), node.facts["kind"], node.facts["format"]
    format = Format.of(file_format)
    if kind == "stream":
        yield Refusal("stream", f"{name} is read as a stream; a materialized view reads tables as they are")
    elif "aspect" in node.facts:
        yield Refusal("aspect", f"`{name}` {_ASPECTS[node.facts['aspect']]}")
    elif kind == "other" and format.log:
        way = f"itself, USING {file_format}" if format.by_path else "by its name"
        files = f"are files of {format.article} table, whose {format.log} says which of them count"
        yield Refusal("unsupported_source", f"`{name}` {files}; read the table {way}")
    elif not (kind == _HIVE or (format.listed if kind == "file" else Format.of(kind).followed)):
        what = f"{format.article} table" if format.title and not format.listed else f"of the format {file_format}"
        remedy = f"copy the rows that the view needs to {Format.of(DEFAULT).article} table, and read that"
        yield Refusal("unsupported_source", f"`{name}` is {what}, which Headwater does not follow yet; {remedy}")
    elif node.facts.get("paths", 1) > 1:
        yield Refusal("unsupported_source", f"{name} are several paths; make them one table")
    for column in node.facts["columns"]:
        if column.get("metadata"):
            yield Refusal("file_metadata", f"`{column['name']}` says how {name}'s files lie, not what is in them")


_HIVE = "hive"
"""The kind of the tables that Hive's classes read: files, whatever the format."""

_ASPECTS = {
    "snapshot": "is read as it was at one time, and so never changes; read it as it is, or make a table of these rows",
    "branch": "is a branch of a table, and Headwater follows tables; read the table, or make one of these rows",
    "changes": "is read as the list of its changes; read the rows of the table, which a view follows change by change",
    "metadata": "has the files and snapshots of a table, not its rows; read the table itself",
}
"""Why a view cannot read something else of a table than its rows as they are."""


def _ordered(node: Node) -> bool:
    """Whether a total sort lies beneath, with only projections and other limits between."""
    while node.op in ("GlobalLimit", "LocalLimit", "Offset", "Tail", "Project"):
        (node,) = node.children
    return node.op == "Sort" and bool(node.facts["facts"][0])


def culprits(expression: Expr) -> Iterator[Call]:
    """The innermost calls whose value the row, or the group of rows, does not determine.

    What depends on the order of rows is accepted where that order is stated or removed:
    ``sort_array(collect_list(x))``, ``array_sort(collect_list(x))``,
    ``first(x) OVER (… ORDER BY y)``, ``listagg(x) WITHIN GROUP (…)``.
    """
    match expression:
        case Call(call="SortArray", args=(Call(call="CollectList" | "CollectSet") as ordered, *_)):
            inner = ordered.args
        case Call(call="ArraySort", args=(Call(call="CollectList" | "CollectSet") as ordered, Call() as by)) if (
            _is_natural(by)
        ):
            inner = ordered.args
        case Call(call="WindowExpression", args=(Call() as ordered, window)) if _sorted(window):
            inner = (*(ordered.args if ordered.call in _BY_ORDER else (ordered,)), window)
        case Call(args=args):
            inner = args
        case _:
            return
    for each in inner:
        yield from culprits(each)
    if expression.filter is not None:
        yield from culprits(expression.filter)
    if _volatile(expression):
        yield expression


def _is_natural(by: Call) -> bool:
    """Whether a function compares two values as Spark does where none is stated. Another one may take two for equal."""
    match by.args:
        case (body, Attr() as left, Attr() as right):
            return _shape(body) == _compared(left.id, right.id)
    return False


def _shape(expression: Expr) -> object:
    match expression:
        case Attr(id=number):
            return number
        case Lit(sql=text):
            return text
        case Call(call=call, args=args):
            return (call, *map(_shape, args))
    return None


def _compared(left: int, right: int) -> object:
    """What Spark's ``ArraySort.comparator`` makes of two values; NULL comes last."""
    nulls, alone = ("And", ("IsNull", left), ("IsNull", right)), (("IsNull", left), ("IsNull", right))
    by_value = ("If", ("LessThan", left, right), "-1", ("If", ("GreaterThan", left, right), "1", "0"))
    return ("If", nulls, "0", ("If", alone[0], "1", ("If", alone[1], "-1", by_value)))


_BY_ORDER = {"First", "Last", "AnyValue", "CollectList", "CollectSet", "ListAgg"}
"""Aggregates that depend on the order of rows, though Spark calls them deterministic."""


def _sorted(call: Expr) -> bool:
    return isinstance(call, Call) and any(isinstance(x, Call) and x.call == "SortOrder" for x in call.args)


def _is_bounded(window: Expr) -> bool:
    """Whether a frame of places has an end: without an order, no rows are in it for certain."""
    parts = window.args if isinstance(window, Call) else ()
    frames = [each for each in parts if isinstance(each, Call) and is_of(each, "RowFrame$")]
    return any(not is_open(bound) for frame in frames for bound in frame.args)


def _volatile(call: Call) -> bool:
    if (
        call.call in VOLATILE
        or _begins_at_random(call)
        or call.call == "Mode"
        or (call.call in _BY_ORDER and not _sorted(call))
    ):
        return True
    if call.call == "WindowExpression" and not _sorted(call.args[1]) and _is_bounded(call.args[1]):
        return True
    within = any(isinstance(each, Call) and not each.deterministic for each in call.args)
    return not call.deterministic and not within and call.kind != "subquery"


def _begins_at_random(call: Call) -> bool:
    """Whether a call encrypts with an initialization vector that Spark takes at random, though it calls it
    deterministic: the vector is left out or empty, and the mode is another one than ECB, which has none."""
    match call:
        case Call(call="AesEncrypt", args=(_, _, mode, _, vector, *_)):
            return _text(mode) != "ECB" and _text(vector) == ""
    return False


def _text(expression: Expr) -> str | None:
    """A string, or the bytes of a literal, in upper case; ``None`` if it is no literal."""
    match expression:
        case Lit(sql=sql):
            return sql.upper().removeprefix("X").strip("'")
        case Call(call="Cast", args=(inner,)):
            return _text(inner)
    return None


_PATTERN = "is a pattern, which may match other directories tomorrow; make them one table"
_OPTIONS = (
    "is read WITH options, which a refresh of changed rows does not follow; "
    "make a table with these OPTIONS, and read that"
)
_CLOCK = "depends on when and where the query is evaluated"


def _sentence(call: Call) -> str:
    text = display(call)
    match call.call:
        case "CollectList" | "CollectSet":
            return f"`{text}` gathers rows in no fixed order; `sort_array({text})` is accepted"
        case "First" | "Last" | "AnyValue":
            return f"`{text}` takes whichever row comes first; use min, max, min_by or max_by"
        case "Mode" | "ListAgg":
            return f"`{text}` depends on the order of rows, which is not fixed"
        case "WindowExpression":
            return f"`{text}` takes rows before and after others in no fixed order; ORDER BY in its window states one"
        case "AesEncrypt":
            return f"`{text}` takes random bytes as its initialization vector; name the vector, or the mode 'ECB'"
        case "CurrentUser":
            return f"`{text}` depends on who evaluates the query"
        case "VariableReference":
            return f"`{text}` is a session variable"
        case _ if call.call in VOLATILE:
            return f"`{text}` {_CLOCK}"
    return f"`{text}` may give another value at each evaluation"
