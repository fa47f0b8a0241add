"""Loops that the JVM makes: a call from Python takes a tenth of a millisecond, and a table has many thousand files.

Java's method handles are put together from here, so no class has to be compiled against Iceberg. Example: the handles
of ``file.specId()`` and ``String.valueOf(int)`` make a function from a file to a text.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

Handle = JavaObject
"""A Java method, or several that were put together."""


class Loops:
    """Applies methods to many objects at once.

    Args:
        session: whose JVM has the classes of the methods.
    """

    def __init__(self, session: SparkSession) -> None:
        self._gateway, self._jvm = session._sc._gateway, session._jvm
        self._handles = self._jvm.java.lang.invoke.MethodHandles

    def texts(self, objects: JavaObject, text: Handle) -> list[str]:
        """The text of each of some objects. No text has a line break."""
        iterables = self._jvm.org.apache.iceberg.io.CloseableIterable
        function = self._functional("java.util.function.Function", text, "java.lang.Object", "java.lang.Object")
        texts = iterables.transform(iterables.combine(objects, iterables.empty()), function)
        told = self._jvm.java.lang.String.join("\n", texts)
        return told.split("\n") if told else []

    def each(self, objects: JavaObject, action: Handle) -> None:
        """Calls a method with each of some objects."""
        listed = self._jvm.java.util.ArrayList(objects)  # py4j finds no default methods of interfaces
        listed.forEach(self._functional("java.util.function.Consumer", action, "void", "java.lang.Object"))

    # --- handles

    def method(self, owner: str, name: str, result: str, *arguments: str) -> Handle:
        """A method of a class; its first argument is the object."""
        return self._handles.publicLookup().findVirtual(self._class(owner), name, self._type(result, *arguments))

    def function(self, owner: str, name: str, result: str, *arguments: str) -> Handle:
        """A static method of a class."""
        return self._handles.publicLookup().findStatic(self._class(owner), name, self._type(result, *arguments))

    def then(self, first: Handle, *others: Handle) -> Handle:
        """Each on the result of the one before."""
        for other in others:
            wanted = other.type().parameterType(0)
            first = self._handles.filterReturnValue(first.asType(first.type().changeReturnType(wanted)), other)
        return first

    def of_two(self, both: Handle, first: Handle, second: Handle) -> Handle:
        """A method of two arguments, on two results for the same object."""
        wanted = [both.type().parameterType(n) for n in (0, 1)]
        parts = [
            part.asType(part.type().changeReturnType(type)) for part, type in zip((first, second), wanted, strict=True)
        ]
        on_two = self._handles.filterArguments(both, 0, self._array("java.lang.invoke.MethodHandle", *parts))
        twice = self._gateway.new_array(self._jvm.int, 2)
        twice[0] = twice[1] = 0
        return self._handles.permuteArguments(on_two, first.type().changeReturnType(both.type().returnType()), twice)

    def spaced(self, first: Handle, second: Handle) -> Handle:
        """The texts of two methods with a space between."""
        concat = self.method("java.lang.String", "concat", "java.lang.String", "java.lang.String")
        space = self._handles.insertArguments(concat, 1, self._array("java.lang.Object", " "))
        return self.of_two(concat, self.then(first, space), second)

    # --- inside

    def _functional(self, interface: str, handle: Handle, *type: str) -> JavaObject:
        general = handle.asType(self._type(*type))
        return self._jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(self._class(interface), general)

    def _class(self, name: str) -> JavaObject:
        match name:
            case "int":
                return self._jvm.java.lang.Integer.TYPE
            case "long":
                return self._jvm.java.lang.Long.TYPE
            case "void":
                return self._jvm.java.lang.Void.TYPE
        return self._jvm.org.apache.spark.util.Utils.classForName(name, True, False)

    def _type(self, result: str, *arguments: str) -> JavaObject:
        kinds = self._array("java.lang.Class", *map(self._class, arguments))
        return self._jvm.java.lang.invoke.MethodType.methodType(self._class(result), kinds)

    def _array(self, kind: str, *values: Any) -> JavaObject:
        array = self._jvm.java.lang.reflect.Array.newInstance(self._class(kind), len(values))
        for n, value in enumerate(values):
            array[n] = value
        return array
