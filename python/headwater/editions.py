"""Editions of modules: the text of a module, and of the modules of its project that it imports.

A process keeps a module as it was when it was imported. The file may have changed since then, and so may a module that
it imports. Example: ``rates.py`` imports ``currencies.py`` from the same directory. The digest of its edition covers
both texts, and ``Editions`` imports both anew after one of them changed.

Installed packages and the standard library are no part of a project, unless the module is of an installed package
itself: then this package is.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.abc import ExecutionLoader, InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from attrs import frozen

OURS = ("headwater", "pyspark", "py4j")
"""Packages that are no part of a project, wherever they lie."""


@frozen
class Source:
    """A module as its file has it.

    Attributes:
        origin: the file.
        packages: where the modules of a package lie; ``None`` of a module that is no package.
    """

    origin: str
    text: str
    packages: tuple[str, ...] | None


@frozen
class Edition:
    """A module and those of its project that it imports, by name."""

    module: str
    sources: Mapping[str, Source]

    @property
    def digest(self) -> str:
        """It changes with each of the texts."""
        texts = [(name, self.sources[name].text) for name in sorted(self.sources)]
        return hashlib.sha256(repr(texts).encode(errors="surrogatepass")).hexdigest()[:32]


@frozen
class LoadedModule:
    """A module that was imported from the texts of an edition."""

    module: ModuleType
    edition: Edition


def edition_of(module: str) -> Edition:
    """The edition of a module that its files hold now. It has no source if there is no text of the module."""
    importlib.invalidate_caches()
    project, found, wanted = module.partition(".")[0], {}, [module]
    while wanted:
        name = wanted.pop()
        if name in found or not _of_project(name, project):
            continue
        source = _source(name)
        if source is None:
            continue
        found[name] = source
        wanted += _parents(name)
        wanted += _imported(name, source.packages is not None, source.text)
    return Edition(module, found)


class Editions:
    """The modules that this process imported of their newest editions."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded: dict[str, LoadedModule] = {}

    def load(self, name: str) -> LoadedModule:
        """A module of the edition that its files hold now. It is imported anew if they hold another one than before,
        together with the modules of its project.

        Raises:
            Exception: whatever the import raises.
        """
        with self._lock:
            edition, known = edition_of(name), self._loaded.get(name)
            if known is not None and known.edition == edition:
                return known
            for each in edition.sources if known is None else {**known.edition.sources, **edition.sources}:
                sys.modules.pop(each, None)
            finder = _Finder(edition.sources)
            sys.meta_path.insert(0, finder)
            try:
                loaded = LoadedModule(importlib.import_module(name), edition)
            finally:
                sys.meta_path.remove(finder)
            self._loaded[name] = loaded
            return loaded


class _Finder(MetaPathFinder):
    """Finds the modules of an edition by its texts: a compiled file may be older than the text beside it."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = self._sources.get(fullname)
        if source is None:
            return None
        packages = None if source.packages is None else list(source.packages)
        loader = _Loader(source)
        return spec_from_file_location(fullname, source.origin, loader=loader, submodule_search_locations=packages)


class _Loader(ExecutionLoader):
    def __init__(self, source: Source) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source.text

    def get_filename(self, fullname: str) -> str:
        return self._source.origin

    def is_package(self, fullname: str) -> bool:
        return self._source.packages is not None


def _source(name: str) -> Source | None:
    """The text of a module; ``None`` if there is no such module, or no text of it."""
    spec = _spec(name)
    if spec is None or spec.origin is None or not isinstance(spec.loader, InspectLoader):
        return None
    try:
        text = spec.loader.get_source(name)
    except (ImportError, SyntaxError, OSError):
        return None
    places = _places(spec)
    return None if text is None else Source(spec.origin, text, None if places is None else tuple(places))


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is found. Nothing is imported, not even the packages above it."""
    path: list[str] | None = None
    found: ModuleSpec | None = None
    for each in (*_parents(name), name):
        if found is not None:
            path = _places(found)
            if path is None:
                return None
        specs = (finder.find_spec(each, path, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        found = next((spec for spec in specs if spec is not None), None)
        if found is None:
            return None
    return found


def _places(spec: ModuleSpec) -> list[str] | None:
    """Where the modules of a package lie. Python computes them of a package without ``__init__.py`` by the one above,
    which is perhaps not imported."""
    places = spec.submodule_search_locations
    return None if places is None else list(getattr(places, "_path", places))


def _of_project(name: str, project: str) -> bool:
    """Whether a module is of the project of another one, whose first name is ``project``."""
    top = name.partition(".")[0]
    if top == project:
        return True
    if top in OURS or top in sys.stdlib_module_names:
        return False
    spec = _spec(top)
    places = [] if spec is None else [spec.origin] if spec.has_location else (_places(spec) or [])
    return bool(places) and not any(_is_installed(each) for each in places if each)


@lru_cache(maxsize=4096)
def _is_installed(place: str) -> bool:
    installed = {sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed |= {*site.getsitepackages(), site.getusersitepackages()}
    above = {str(each) for each in Path(place).resolve().parents}
    return any(str(Path(each).resolve()) in above for each in installed if each)


def _parents(name: str) -> list[str]:
    """The packages above a module, the outermost first."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


@lru_cache(maxsize=4096)
def _imported(name: str, is_package: bool, text: str) -> tuple[str, ...]:
    """The names that a module may import, also within its functions. Some are no modules."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()  # the import says it
    package = name if is_package else name.rpartition(".")[0]
    return tuple(dict.fromkeys(each for node in ast.walk(tree) for each in _names(node, package)))


def _names(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            for each in names:
                yield from (*_parents(each.name), each.name)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            base = ".".join([*above, *([module] if module else [])])
            if base:
                yield from (*_parents(base), base)
                yield from (f"{base}.{each.name}" for each in names)
