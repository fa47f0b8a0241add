"""Where the texts come from that Spark parses: from constants, from ``headwater.spark.jvm.sql``, or from elsewhere.

A text is followed backwards through the package: through f-strings, lists and joins, through what helper functions
return, and from a parameter to all calls of its function. What cannot be followed further is a leaf, such as
``column.type``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import field, frozen

SINKS = {
    "sql", "where", "filter", "expr", "selectExpr", "parseExpression", "parsePlan", "run_quietly", "setCurrentDatabase",
}  # fmt: skip
"""Methods that have Spark parse a text."""

PARSED_FIELDS = {"Pin": ("columns", "until"), "evolve": ("until",)}
"""Fields of messages that the shim has Spark parse."""

SAFE = {"string", "literal", "identifier", "quoted", "predicate"}
"""Functions of ``headwater.spark.jvm.sql`` whose results are safe whatever they get."""

NUMBERS = {"len", "int", "round", "time_ns", "bool", "range"}
PASSING = {
    "str", "list", "tuple", "set", "sorted", "reversed", "dict", "enumerate", "zip", "iter", "next", "max", "min",
    "fromkeys", "frozenset",
}  # fmt: skip
"""Functions whose results are made of their arguments."""

METHODS = {
    "join", "upper", "lower", "strip", "lstrip", "rstrip", "replace", "items", "values", "keys", "get", "setdefault",
    "copy", "removesuffix", "removeprefix", "format",
}  # fmt: skip
"""Methods whose results are made of their object and their arguments."""

GROWING = {"append", "extend", "add", "update", "insert", "setdefault"}
"""Methods that put their arguments into their object."""

SCOPES = ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp
"""What has variables of its own."""

COLUMNS = {"F", "Column", "DataFrame"}
"""What these make is a column or rows, and no text. ``F.expr`` is a sink of its own."""


@frozen(eq=False)
class Scope:
    """A function, a class or a module, with that around it."""

    module: str
    node: ast.AST
    outer: Scope | None = None


@frozen
class Leaf:
    """A part of a text that comes from elsewhere."""

    module: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.module}: {self.source}"


@frozen
class Package:
    """The modules of a package, parsed.

    Attributes:
        functions: all, by their names.
        fields: of each class.
        calls: all, by the name of what is called.
        imports: of each module: the names that it imports, each with its module, and with its name there.
    """

    modules: Mapping[str, ast.Module]
    functions: dict[str, list[tuple[Scope, ast.FunctionDef]]] = field(factory=dict, init=False)
    fields: dict[str, tuple[str, ...]] = field(factory=dict, init=False)
    calls: dict[str, list[tuple[Scope, ast.Call]]] = field(factory=dict, init=False)
    imports: dict[tuple[str, str], tuple[str, str]] = field(factory=dict, init=False)

    @classmethod
    def of(cls, root: Path, name: str) -> Package:
        """All modules below a directory.

        Args:
            name: of the package that lies there.
        """
        found = {}
        for each in root.rglob("*.py"):
            parts = each.relative_to(root).with_suffix("").parts
            found[".".join((name, *(part for part in parts if part != "__init__")))] = ast.parse(each.read_text())
        return cls(found)

    def __attrs_post_init__(self) -> None:
        for name, tree in self.modules.items():
            self._index(Scope(name, tree))

    def leaves(self, within: str) -> dict[str, list[str]]:
        """What reaches a parser and is neither constant nor spelled, each with the places where it does.

        Args:
            within: the package in which texts are parsed.
        """
        found: dict[str, list[str]] = {}
        for calls in self.calls.values():
            for scope, call in calls:
                for argument in _parsed(call) if scope.module.startswith(within) else ():
                    for each in _Following(self).of(argument, scope):
                        found.setdefault(str(each), []).append(f"{scope.module}:{call.lineno}")
        return found

    def called(self, function: ast.AST, scope: Scope) -> list[tuple[Scope, ast.FunctionDef]]:
        """The functions that an expression may name: those of a module, of an object itself, or of any class."""
        named = self.functions.get(_name(function), [])
        match function:
            case ast.Name(name):
                module, own = self.imports.get((scope.module, name), (scope.module, name))
                return [(there, each) for there, each in self.functions.get(own, []) if there.module == module
                        and not isinstance(there.node, ast.ClassDef)]  # fmt: skip
            case ast.Attribute(ast.Name("self" | "cls"), _):
                return [each for each in named if each[0].module == scope.module and _is_method(each)]
            case ast.Attribute(ast.Name(of), _) if (scope.module, of) in self.imports:
                module = ".".join(self.imports[scope.module, of])
                return [each for each in named if each[0].module == module and not _is_method(each)]
            case ast.Attribute():
                return [each for each in named if _is_method(each)]
        return []

    def is_safe(self, function: ast.AST, scope: Scope) -> bool:
        return any(there.module.endswith(".sql") and each.name in SAFE for there, each in self.called(function, scope))

    def callers(self, function: ast.FunctionDef) -> Iterator[tuple[Scope, ast.Call]]:
        for scope, call in self.calls.get(function.name, ()):
            if any(each is function for _, each in self.called(call.func, scope)):
                yield scope, call

    def given(self, name: str, scope: Scope) -> Iterator[tuple[Scope, ast.AST]]:
        """What constructors get for a field of an object itself."""
        within: Scope | None = scope
        while within is not None and not isinstance(within.node, ast.ClassDef):
            within = within.outer
        if within is None or not isinstance(within.node, ast.ClassDef):
            return
        own = within.node.name
        for there, call in self.calls.get(own, ()):
            if (argument := _given(call, self.fields[own], name)) is not None:
                yield there, argument

    def _index(self, scope: Scope) -> None:
        for node in _within(scope.node):
            match node:
                case ast.FunctionDef(name):
                    self.functions.setdefault(name, []).append((scope, node))
                    self._index(Scope(scope.module, node, scope))
                case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    self._index(Scope(scope.module, node, scope))
                case ast.ClassDef(name):
                    self.fields[name] = tuple(
                        each.target.id
                        for each in node.body
                        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                    )
                    self._index(Scope(scope.module, node, scope))
                case ast.ImportFrom(str() as module, names):
                    for each in names:
                        self.imports[scope.module, each.asname or each.name] = module, each.name
                case ast.Call():
                    self.calls.setdefault(_name(node.func), []).append((scope, node))


@frozen
class _Following:
    """Follows one text. What it has seen once it does not follow again."""

    package: Package
    seen: set[ast.AST] = field(factory=set)

    def of(self, node: ast.AST | None, scope: Scope) -> set[Leaf]:
        if node is None or node in self.seen:
            return set()
        self.seen.add(node)
        match node:
            case ast.Constant() | ast.Compare() | ast.UnaryOp():
                return set()
            case ast.JoinedStr(values) | ast.Tuple(values) | ast.List(values) | ast.Set(values) | ast.BoolOp(_, values):
                return self.all(values, scope)
            case ast.Subscript(ast.Call() as call, ast.Constant(int() as at)):
                return self.part(call, at, scope)
            case ast.FormattedValue(value) | ast.Starred(value) | ast.NamedExpr(_, value) | ast.Subscript(value):
                return self.of(value, scope)
            case ast.BinOp(left, _, right) | ast.IfExp(_, left, right):
                return self.all((left, right), scope)
            case ast.Dict(keys, values):
                return self.all((*keys, *values), scope)
            case ast.ListComp(one) | ast.SetComp(one) | ast.GeneratorExp(one):
                return self.of(one, Scope(scope.module, node, scope))
            case ast.DictComp(key, value):
                return self.all((key, value), Scope(scope.module, node, scope))
            case ast.Lambda(_, body):
                return self.of(body, Scope(scope.module, node, scope))
            case ast.Name(name):
                return self.named(name, node, scope)
            case ast.Attribute(value, name):
                return self.attribute(name, node, scope)
            case ast.Call():
                return self.called(node, scope)
        return {_leaf(node, scope)}

    def all(self, nodes: Iterable[ast.AST | None], scope: Scope) -> set[Leaf]:
        return set[Leaf]().union(*(self.of(each, scope) for each in nodes))

    def named(self, name: str, node: ast.Name, scope: Scope) -> set[Leaf]:
        """A variable: all that is ever assigned to it; or a parameter: all that calls pass."""
        within: Scope | None = scope
        while within is not None:
            if isinstance(within.node, ast.ClassDef):
                within = within.outer
                continue
            assigned = list(_assigned(within.node, name))
            if isinstance(within.node, ast.FunctionDef) and name in _parameters(within.node):
                return self.all(assigned, within) | self.passed(within, name, node, scope)
            if assigned:
                return self.all(assigned, within)
            if isinstance(within.node, ast.Lambda) and name in _parameters(within.node):
                return {_leaf(node, scope)}
            within = within.outer
        module, own = self.package.imports.get((scope.module, name), ("", ""))
        if module in self.package.modules and (assigned := list(_assigned(self.package.modules[module], own))):
            return self.all(assigned, Scope(module, self.package.modules[module]))
        found = self.returned(node, scope)
        return {_leaf(node, scope)} if found is None else found

    def passed(self, function: Scope, name: str, node: ast.AST, scope: Scope) -> set[Leaf]:
        assert isinstance(function.node, ast.FunctionDef)
        own, found, calls = function.node, set[Leaf](), 0
        for there, call in self.package.callers(own):
            given = _argument(call, own, name)
            if given is not None:
                calls += 1
                found |= self.of(given, there)
        default = _default(own, name)
        return found | self.of(default, function) if calls or default is not None else {_leaf(node, scope)}

    def attribute(self, name: str, node: ast.Attribute, scope: Scope) -> set[Leaf]:
        """A field of a class of the package: all that its constructors get. Another one is a leaf."""
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        given = list(self.package.given(name, scope)) if own else []
        if not given:
            return {_leaf(node, scope)}
        return set[Leaf]().union(*(self.of(argument, there) for there, argument in given))

    def called(self, call: ast.Call, scope: Scope) -> set[Leaf]:
        name, arguments = _name(call.func), (*call.args, *(each.value for each in call.keywords))
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if self.package.is_safe(call.func, scope) or _root(call.func) in COLUMNS or name in NUMBERS:
            return set()
        if name == "map" and receiver is None:
            return set() if self.package.is_safe(call.args[0], scope) else self.all(call.args, scope)
        if name in PASSING:
            return self.all(arguments, scope)
        if (found := self.returned(call.func, scope)) is not None:
            return found
        if name in METHODS and receiver is not None:
            return self.all((receiver, *arguments), scope)
        return {_leaf(call, scope)}

    def part(self, call: ast.Call, at: int, scope: Scope) -> set[Leaf]:
        """One of the values that a function returns, where its returns list them."""
        functions, found = self.package.called(call.func, scope), set[Leaf]()
        for there, each in functions:
            for part in _within(each):
                if isinstance(part, ast.Return | ast.Yield):
                    listed = isinstance(part.value, ast.Tuple) and at < len(part.value.elts)
                    value = part.value.elts[at] if listed else part.value
                    found |= self.of(value, Scope(there.module, each, there))
        return found if functions else self.of(call, scope)

    def returned(self, function: ast.AST, scope: Scope) -> set[Leaf] | None:
        """What the functions return that an expression may name; ``None`` if the package has none."""
        functions = self.package.called(function, scope)
        if not functions:
            return None
        found = set[Leaf]()
        for there, each in functions:
            own = Scope(there.module, each, there)
            for part in _within(each):
                if isinstance(part, ast.Return | ast.Yield | ast.YieldFrom):
                    found |= self.of(part.value, own)
        return found


# --- inside


def _parsed(call: ast.Call) -> Iterator[ast.AST]:
    """The arguments of a call that Spark is to parse."""
    name = _name(call.func)
    if isinstance(call.func, ast.Attribute) and name in SINKS:
        yield from call.args[1:] if name == "run_quietly" else call.args
    for each in call.keywords:
        if each.arg in PARSED_FIELDS.get(name, ()):
            yield each.value
    if name == "Pin":
        yield from call.args[1:2]


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """All that is in a scope, but not in scopes within it."""
    for each in ast.iter_child_nodes(node):
        yield each
        if not isinstance(each, SCOPES):
            yield from _within(each)


def _assigned(function: ast.AST, name: str) -> Iterator[ast.AST]:
    """All that is assigned to a variable of a scope, or put into it."""
    for each in _within(function):
        match each:
            case ast.Assign(targets, value) if any(_binds(target, name) for target in targets):
                yield from _parts(targets[0], value, name)
            case ast.AnnAssign(target, _, value) | ast.AugAssign(target, _, value) if value and _binds(target, name):
                yield value
            case ast.NamedExpr(ast.Name(target), value) if target == name:
                yield value
            case ast.For(target, over) | ast.comprehension(target, over) if _binds(target, name):
                yield from _parts(target, over, name)
            case ast.withitem(value, ast.AST() as target) if _binds(target, name):
                yield value
            case ast.Match(subject, cases) if any(_captures(one.pattern, name) for one in cases):
                yield subject
            case ast.Call(ast.Attribute(receiver, method), arguments) if method in GROWING and _root(receiver) == name:
                yield from arguments


def _parts(target: ast.AST, value: ast.AST, name: str) -> Iterator[ast.AST]:
    """The part of a value that goes to a name, where both are written side by side; else all of it."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            if _binds(one, name):
                yield from _parts(one, part, name)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call) and _name(value.func) == "enumerate":
        yield from (ast.Constant(0),) if _binds(target.elts[0], name) else value.args
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call) and _name(value.func) == "zip":
        yield from (part for one, part in zip(target.elts, value.args, strict=False) if _binds(one, name))
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
        at = next(n for n, each in enumerate(target.elts) if _binds(each, name))
        starred = any(isinstance(each, ast.Starred) for each in target.elts)
        yield value if starred else ast.Subscript(value, ast.Constant(at))
    else:
        yield value


def _binds(target: ast.AST, name: str) -> bool:
    match target:
        case ast.Name(own):
            return own == name
        case ast.Tuple(several) | ast.List(several):
            return any(_binds(each, name) for each in several)
        case ast.Starred(value) | ast.Subscript(value):
            return _binds(value, name)
    return False


def _captures(pattern: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.MatchAs | ast.MatchStar) and each.name == name for each in ast.walk(pattern))


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    own = function.args
    return [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg) if each]


def _argument(call: ast.Call, function: ast.FunctionDef, name: str) -> ast.AST | None:
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    bound = names[:1] in (["self"], ["cls"])
    return _given(call, tuple(names[1:] if bound else names), name)


def _given(call: ast.Call, names: tuple[str, ...], name: str) -> ast.AST | None:
    """What a call passes for a parameter of some name."""
    if (found := next((each.value for each in call.keywords if each.arg == name), None)) is not None:
        return found
    starred = next((n for n, each in enumerate(call.args) if isinstance(each, ast.Starred)), None)
    at = names.index(name) if name in names else None
    if at is None or (starred is None and at >= len(call.args)):
        return None
    return call.args[at if starred is None else min(at, starred)]


def _default(function: ast.FunctionDef, name: str) -> ast.AST | None:
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    pairs = [*zip(positional[len(positional) - len(own.defaults) :], own.defaults, strict=True)]
    pairs += [(each, default) for each, default in zip(own.kwonlyargs, own.kw_defaults, strict=True) if default]
    return next((default for each, default in pairs if each.arg == name), None)


def _name(function: ast.AST) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case ast.Subscript(value):
            return _name(value)
    return ""


def _root(node: ast.AST) -> str:
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value) | ast.Call(value) | ast.Subscript(value):
            return _root(value)
    return ""


def _is_method(function: tuple[Scope, ast.FunctionDef]) -> bool:
    return isinstance(function[0].node, ast.ClassDef)


def _leaf(node: ast.AST, scope: Scope) -> Leaf:
    return Leaf(scope.module, getattr(node, "lineno", 0), ast.unparse(node))
