"""Calls of static methods in the JVM. A name is looked up once, since that takes py4j a call for each part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.sql import SparkSession


class Java:
    """The JVM of a session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._gateway, self._jvm = session._sc._gateway, session._jvm
        self._known: dict[str, Callable[..., Any]] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Calls a static method, or makes an object of a class. ``iceberg.`` stands for ``org.apache.iceberg.``"""
        return self._found(name)(*arguments)

    def array(self, kind: str, *values: Any) -> JavaObject:
        """An array of some class."""
        array = self("java.lang.reflect.Array.newInstance", self.kind(kind), len(values))
        for n, value in enumerate(values):
            array[n] = value
        return array

    def numbers(self, *values: int) -> JavaObject:
        """An array of ``int``."""
        array = self._gateway.new_array(self._jvm.int, len(values))
        for n, value in enumerate(values):
            array[n] = value
        return array

    def kind(self, name: str) -> JavaObject:
        """A class."""
        primitive = _PRIMITIVES.get(name)
        if primitive:
            return self._found(f"java.lang.{primitive}.TYPE")
        return self("org.apache.spark.util.Utils.classForName", _full(name), True, False)

    def raised(self, error: Exception, *names: str) -> bool:
        """Whether an error is one of these exceptions."""
        java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        return java is not None and any(is_instance_of(self._gateway, java, _full(each)) for each in names)

    def _found(self, name: str) -> Any:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = reduce(getattr, _full(name).split("."), self._jvm)
        return found


_PRIMITIVES = {"int": "Integer", "long": "Long", "boolean": "Boolean", "void": "Void"}


def _full(name: str) -> str:
    return f"org.apache.{name}" if name.startswith("iceberg.") else name
