"""Calls of Iceberg's Java API, for what other programs do with tables."""

from __future__ import annotations

from functools import reduce
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession


class Java:
    """The JVM of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._gateway: Any = session._sc._gateway
        self._jvm: Any = session._jvm

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Calls a static method, or makes an object of a class; both are named from ``org.apache.`` on.

        Py4J takes a method for missing if Java lists one of objects with the same name before it. Java has no order.
        """
        *container, last = name.split(".")
        holder = reduce(getattr, container, self._jvm.org.apache)
        if isinstance(holder, JavaClass) and last[0].islower():
            client = self._gateway._gateway_client
            return JavaMember(last, None, f"{STATIC_PREFIX}{holder._fqn}", client)(*arguments)
        return getattr(holder, last)(*arguments)

    def numbers(self, *values: int) -> JavaObject:
        """An array of ``int``."""
        array = self._gateway.new_array(self._jvm.int, len(values))
        for n, value in enumerate(values):
            array[n] = value
        return array
