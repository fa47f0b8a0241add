"""Scala's values over the gateway."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession


class Jvm:
    """Makes the arguments of Delta's own functions, in the driver of a session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.root = cast(Any, session._jvm)
        self.sql = self.root.org.apache.spark.sql
        self.delta = self.sql.delta
        self.none = self.root.scala.Option.empty()

    def some(self, value: Any) -> Any:
        """An ``Option``; none of ``None``."""
        return self.root.scala.Option.apply(value)

    def seq(self, values: Iterable[Any]) -> Any:
        return self.root.PythonUtils.toSeq(list(values))

    def map(self, values: Mapping[str, Any]) -> Any:
        return self.root.PythonUtils.toScalaMap(dict(values))

    def inner(self, outer: Any, name: str) -> Any:
        """A class within a Scala object."""
        return getattr(outer, name)

    def method(self, example: Any, name: str, result: str) -> Any:
        """A method without arguments, of the class of an example, as a Scala function. So ``seq.map`` makes one call
        to the driver instead of one for each element."""
        of, invoke = example.getClass(), self.root.java.lang.invoke
        type_ = invoke.MethodType.methodType(self.root.java.lang.Class.forName(result, True, of.getClassLoader()))
        handle = invoke.MethodHandles.publicLookup().findVirtual(of, name, type_)
        function = self.root.java.lang.Class.forName("java.util.function.Function")
        java = invoke.MethodHandleProxies.asInterfaceInstance(function, handle)
        return self.root.scala.jdk.javaapi.FunctionConverters.asScalaFromFunction(java)

    def is_a(self, value: Any, name: str) -> bool:
        return is_instance_of(self.session.sparkContext._gateway, value, name)

    @contextlib.contextmanager
    def active(self, session: SparkSession) -> Iterator[None]:
        """Lets Delta's functions run in a session."""
        sessions = self.sql.SparkSession
        before = sessions.getActiveSession()
        sessions.setActiveSession(session._jsparkSession)
        try:
            yield
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()
