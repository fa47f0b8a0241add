"""Orders in which tasks start: two that free memory soon ([Li23] §V-B), one that is complete soon."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

from headwater.memory.planning.problem import Problem


def depth_first(problem: Problem, flagged: Collection[int]) -> tuple[int, ...]:
    """MA-DFS: a branch is finished before another is begun; of several, the one that fills least memory first.

    The text tells the rule for ties, and no more. It is read as scheduling: after a task come the readers that it
    was the last input of, then the tasks that were left for later, the latest first. So of several inputs of one task
    that could start together the largest flagged one is computed last, as the text wants. Equal ones come in the
    order of the problem. (The other reading, a walk from the last views to their inputs, has to order the last views
    by something the text does not give.)
    """
    missing = [len(inputs) for inputs in problem.inputs]

    def later_first(tasks: Collection[int]) -> list[int]:
        return sorted(tasks, key=lambda n: (problem.tasks[n].size if n in flagged else 0, n), reverse=True)

    waiting = later_first([n for n, count in enumerate(missing) if not count])
    order = []
    while waiting:
        task = waiting.pop()
        order.append(task)
        for reader in problem.readers[task]:
            missing[reader] -= 1
        waiting += later_first([reader for reader in problem.readers[task] if not missing[reader]])
    return tuple(order)


def frugal(problem: Problem) -> tuple[int, ...]:
    """At each step the task that fills least memory, if all that is worth keeping were kept: its own output, less of
    each input the part of one of the readers still to come. Of equal ones the one that continues what is newest."""
    worth = set(problem.worthwhile)
    sizes = [task.size if n in worth else 0 for n, task in enumerate(problem.tasks)]
    missing = [len(inputs) for inputs in problem.inputs]
    unread = [len(readers) for readers in problem.readers]
    ready = {n for n, count in enumerate(missing) if not count}
    step: dict[int, int] = {}

    def fills(task: int) -> tuple[float, int, int]:
        freed = sum(sizes[source] / unread[source] for source, _ in problem.inputs[task])
        newest = max((step[source] for source, _ in problem.inputs[task]), default=-1)
        return (sizes[task] if unread[task] else 0) - freed, -newest, task

    while ready:
        task = min(ready, key=fills)
        ready.remove(task)
        step[task] = len(step)
        for source, _ in problem.inputs[task]:
            unread[source] -= 1
        for reader in problem.readers[task]:
            missing[reader] -= 1
            if not missing[reader]:
                ready.add(reader)
    return tuple(step)


def longest_first(problem: Problem) -> tuple[int, ...]:
    """Of the tasks that can start, first the one with the longest chain of readers, its own time included."""
    rank = chains(problem, [task.run for task in problem.tasks])
    missing = [len(inputs) for inputs in problem.inputs]
    ready = [(-rank[n], n) for n, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, task = heapq.heappop(ready)
        order.append(task)
        for reader in problem.readers[task]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (-rank[reader], reader))
    return tuple(order)


def chains(problem: Problem, lasts: Sequence[int]) -> list[int]:
    """For each task the µs of the longest chain from its start to the end of a last reader."""
    found = [0] * len(problem.tasks)
    for task in reversed(range(len(problem.tasks))):
        found[task] = lasts[task] + max((found[reader] for reader in problem.readers[task]), default=0)
    return found
