"""Loops that the JVM makes: a call from Python takes a tenth of a millisecond, and a table has many thousand files.

Java's method handles are put together from here, so no class has to be compiled against Iceberg. Example: the handles
of ``file.specId()`` and ``String.valueOf(int)`` make a function from a file to a text.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.java import Java

Handle: TypeAlias = JavaObject
"""A Java method, or several that were put together."""

TEXT, ANYTHING = "java.lang.String", "java.lang.Object"


class Loops:
    """Applies methods to many objects at once. What is made of a handle may be used again and again."""

    def __init__(self, java: Java) -> None:
        self._java = java

    def texts(self, objects: JavaObject, text: JavaObject) -> list[str]:
        """The text of each of some objects, by a function that ``function_of`` made. No text has a line break."""
        told = self._java("java.lang.String.join", "\n", self._java(f"{_ITERABLE}.transform", self._all(objects), text))
        return told.split("\n") if told else []

    def those(self, objects: JavaObject, condition: Handle) -> list[JavaObject]:
        """The objects for which a condition holds."""
        predicate = self._functional("java.util.function.Predicate", condition, "boolean", ANYTHING)
        filtered = self._java(f"{_ITERABLE}.filter", self._all(objects), predicate).iterator()
        found = []
        while filtered.hasNext():
            found.append(filtered.next())
        return found

    def each(self, objects: JavaObject, action: Handle) -> None:
        """Calls a method with each of some objects."""
        listed = self._java("java.util.ArrayList", objects)  # py4j finds no default methods of interfaces
        listed.forEach(self._functional("java.util.function.Consumer", action, "void", ANYTHING))

    def function_of(self, handle: Handle) -> JavaObject:
        """A Java function that calls a handle."""
        return self._functional("java.util.function.Function", handle, ANYTHING, ANYTHING)

    # --- handles

    def method(self, owner: str, name: str, result: str, *arguments: str) -> Handle:
        """A method of a class; its first argument is the object."""
        return self._public.findVirtual(self._java.kind(owner), name, self._type(result, *arguments))

    def function(self, owner: str, name: str, result: str, *arguments: str) -> Handle:
        """A static method of a class."""
        return self._public.findStatic(self._java.kind(owner), name, self._type(result, *arguments))

    def then(self, first: Handle, *others: Handle) -> Handle:
        """Each on the result of the one before."""
        for other in others:
            wanted = other.type().parameterType(0)
            first = self._java(
                f"{_HANDLES}.filterReturnValue", first.asType(first.type().changeReturnType(wanted)), other
            )
        return first

    def of_two(self, both: Handle, first: Handle, second: Handle) -> Handle:
        """A method of two arguments, on two results for the same object."""
        parts = [
            part.asType(part.type().changeReturnType(both.type().parameterType(n)))
            for n, part in enumerate((first, second))
        ]
        filters = self._java.array("java.lang.invoke.MethodHandle", *parts)
        on_two = self._java(f"{_HANDLES}.filterArguments", both, 0, filters)
        type = first.type().changeReturnType(both.type().returnType())
        return self._java(f"{_HANDLES}.permuteArguments", on_two, type, self._java.numbers(0, 0))

    def spaced(self, first: Handle, second: Handle) -> Handle:
        """The texts of two methods with a space between."""
        concat = self.method(TEXT, "concat", TEXT, TEXT)
        space = self._java(f"{_HANDLES}.insertArguments", concat, 1, self._java.array(ANYTHING, " "))
        return self.of_two(concat, self.then(first, space), second)

    # --- inside

    @cached_property
    def _public(self) -> JavaObject:
        return self._java(f"{_HANDLES}.publicLookup")

    def _all(self, objects: JavaObject) -> JavaObject:
        return self._java(f"{_ITERABLE}.combine", objects, self._java(f"{_ITERABLE}.empty"))

    def _functional(self, interface: str, handle: Handle, *type: str) -> JavaObject:
        general, kind = handle.asType(self._type(*type)), self._java.kind(interface)
        return self._java("java.lang.invoke.MethodHandleProxies.asInterfaceInstance", kind, general)

    def _type(self, result: str, *arguments: str) -> JavaObject:
        kinds = self._java.array("java.lang.Class", *map(self._java.kind, arguments))
        return self._java("java.lang.invoke.MethodType.methodType", self._java.kind(result), kinds)


_HANDLES = "java.lang.invoke.MethodHandles"
_ITERABLE = "iceberg.io.CloseableIterable"
