"""The ratio rule of [Xu23] §4.2 as the paper describes it, to compare with. The product does not use it.

A request for a job may be delayed until a request upstream has come through, so that both are one. Either
choice is weighed by its savings over its delays, and the larger ratio wins. Two faults are kept:

- The ratio divides by zero where nothing is late, which with the penalty that the paper proposes for
  freshness bounds is everywhere but past the bound; and at a job without readers, not delaying is 0 / 0.
- What is below a diamond is counted once for each path when the request is not delayed, and once when it
  is: where the foot costs more than what is above it, the rule runs the head at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from attrs import Factory, define, frozen

from benchmarks.papers.small import Lazy, Request
from benchmarks.papers.truth import NONE, Job

MISSED = 1e9
"""The "very large number" that the paper proposes as the penalty of a missed bound; on time it is zero."""


@frozen
class Weighed:
    """The savings of a choice, and the penalty of its delays."""

    reward: float
    penalty: float

    @property
    def ratio(self) -> float:
        """
        Raises:
            ZeroDivisionError: nothing is late, as the paper has it.
        """
        return self.reward / self.penalty


Reading = Callable[[Weighed], float | tuple[float, float]]
"""The measure by which choices are compared."""


def literal(choice: Weighed) -> float:
    """The ratio, word for word."""
    return choice.ratio


def charitable(choice: Weighed) -> tuple[float, float]:
    """The ratio where it exists. Choices without a penalty are better than all others, by their reward."""
    return (choice.ratio if choice.penalty else inf, choice.reward)


@frozen
class Rule:
    """
    Attributes:
        readers: of each job.
        cost: of one run of a job.
        penalty: of delaying a job by a time (ms).
        reading: of the ratio.
    """

    readers: Mapping[Job, Sequence[Job]]
    cost: Mapping[Job, float]
    penalty: Callable[[Job, int], float]
    reading: Reading = literal

    def delays(self, job: Job, time: int) -> bool:
        """Whether delaying the request of a job has the larger ratio."""
        return self.reading(self.delayed(job, time)) > self.reading(self.started(job, time))

    def delayed(self, job: Job, time: int) -> Weighed:
        """Merging saves a run of everything downstream, all of which is delayed."""
        below = self._below(job)
        return Weighed(sum(self.cost[each] for each in below), sum(self.penalty(each, time) for each in below))

    def started(self, job: Job, time: int) -> Weighed:
        """Each reader decides for itself. A job that two of them reach counts twice."""
        choices = [self.best(each, time) for each in self.readers.get(job, ())]
        return Weighed(sum(each.reward for each in choices), sum(each.penalty for each in choices))

    def best(self, job: Job, time: int) -> Weighed:
        return self.delayed(job, time) if self.delays(job, time) else self.started(job, time)

    def _below(self, job: Job) -> set[Job]:
        found, frontier = {job}, [job]
        while frontier:
            new = set(self.readers.get(frontier.pop(), ())) - found
            found |= new
            frontier += new
        return found


@define
class Ratio(Lazy):
    """Requests made lazily, of which the rule decides how long each waits for those upstream.

    Times are estimated exactly: run times are fixed. With the literal reading it stops at the first
    decision, so the charitable one is played.

    Attributes:
        takes: the run time of each job (ms).
        bounds: how long after a change (ms) a job must reflect it.
    """

    takes: Mapping[Job, int] = Factory(dict)
    bounds: Mapping[Job, int] = Factory(dict)
    reading: Reading = charitable

    def ready(self, request: Request) -> bool:
        job, now = request.job, self._agenda.now
        oldest, ends = self._oldest(job), self._ends(job)

        def penalty(each: Job, time: int) -> float:
            late = now + time + ends[each] > oldest + self.bounds.get(each, inf)
            return MISSED if late else 0

        rule = Rule(self.readers, self.takes, penalty, self.reading)
        return not any(rule.delays(job, self._until(other, job)) for other in self._active(job))

    def _oldest(self, job: Job) -> int:
        """When the oldest change came that a job does not reflect and some of what it reads does."""
        known = [self.truth.reflects.get(each, NONE) for each in self.graph[job]]
        news = self.truth.asked.get(job, NONE).union(*known) - self.truth.reflects.get(job, NONE)
        return min((self.truth.at[each] for each in news), default=self._agenda.now)

    def _active(self, job: Job) -> list[Job]:
        return [each for each in (*self.pending, *self.running) if each != job and each in self.above[job]]

    def _until(self, other: Job, job: Job) -> int:
        """How long until an active request upstream has come through to a job (ms)."""
        left = self.ends[other] - self._agenda.now if other in self.running else self.takes[other]
        return left + self._ends(other)[job] - self.takes[other] - self.takes[job]

    def _ends(self, job: Job) -> dict[Job, int]:
        """How long the runs from a job to each one downstream take on the longest path, both included (ms)."""
        ends = {job: self.takes[job]}
        for each, inputs in self.graph.items():
            reached = [ends[other] for other in inputs if other in ends]
            if reached:
                ends[each] = max(reached) + self.takes[each]
        return ends
