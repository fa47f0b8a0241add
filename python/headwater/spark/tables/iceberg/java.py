"""Calls of static methods in the JVM. A name is looked up once, since that takes py4j a call for each part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject, JavaPackage, is_instance_of
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

from headwater.model.error import RefreshFailed

MISSING = (
    "Iceberg's classes are not there; start Spark with "
    "--packages org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
)


class Java:
    """The JVM of a session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._gateway: Any = session._sc._gateway
        self._jvm: Any = session._jvm
        self._known: dict[str, Callable[..., Any]] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Calls a static method, or makes an object of a class. ``iceberg.`` stands for ``org.apache.iceberg.``

        Raises:
            RefreshFailed: Iceberg's jar is missing.
        """
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

    def is_a(self, value: JavaObject, name: str) -> bool:
        """Whether an object is of a class."""
        return is_instance_of(self._gateway, value, _full(name))

    def raised(self, error: Exception, *names: str) -> bool:
        """Whether an error is one of these exceptions."""
        java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        return java is not None and any(is_instance_of(self._gateway, java, _full(each)) for each in names)

    def _found(self, name: str) -> Any:
        """A class, a static field or a static method.

        Py4J takes a method for missing if Java lists one of objects with the same name before it. Java has no order.
        """
        found = self._known.get(name)
        if found is None:
            *container, last = _full(name).split(".")
            holder = reduce(getattr, container, self._jvm)
            if isinstance(holder, JavaClass) and last[0].islower():
                found = JavaMember(last, None, f"{STATIC_PREFIX}{holder._fqn}", self._gateway._gateway_client)
            else:
                found = getattr(holder, last)
            if isinstance(found, JavaPackage):
                raise RefreshFailed(MISSING)
            self._known[name] = found
        return found


_PRIMITIVES = {"int": "Integer", "long": "Long", "boolean": "Boolean", "void": "Void"}


def _full(name: str) -> str:
    return f"org.apache.{name}" if name.startswith("iceberg.") else name
