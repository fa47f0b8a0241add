"""What a table format implements: looks at tables, and as far as it can, reads of old states and tables of views.

``tests/spark/test_table_format_contract.py`` says what each implementation keeps to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from attrs import Factory, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import ChangesUnknown
from headwater.model.event import Made
from headwater.model.partition import Slice, Version
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows, Seen, TableQuestion
from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.facts import Pin
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import Reach


@frozen
class LastPublished:
    """The newest state of a view's table.

    Attributes:
        at: that state.
        version: the highest version that was published; 0: none.
        sources: the snapshots of the sources that all of its rows are made from, if the newest commit is a publication;
            none: nobody knows.
    """

    at: str
    version: Version = 0
    sources: Mapping[str, str] = Factory(dict)


@frozen
class GroupShown:
    """What readers of some views see from now on.

    Attributes:
        foreign: the views in which they saw rows of another program until now.
        lost: those of which the snapshot is gone, so readers see what they saw.
    """

    foreign: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


class TableFormat(ABC):
    """A kind of tables that views read. Without more than this, looks before a run and after it tell what it read."""

    name: str
    """``Format.tables`` of its formats."""

    @abstractmethod
    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        """Tables as they are now, in the order of the looks. One that nobody can look at takes no other with it."""

    @abstractmethod
    def touches(self, table: str, path: str) -> bool:
        """Whether a write to a path may change a table."""

    # --- reads of a state that was

    def pin(self, table: str, snapshot: str) -> Pin | None:
        """How the shim reads a table as it was at a snapshot; ``None``: it cannot."""
        return None

    def is_same(self, one: str, other: str) -> bool:
        """Whether two snapshots of a table are of one state."""
        return bool(one) and one == other

    def precedes(self, table: str, one: str, other: str) -> bool:
        """Whether a table came from the state of one snapshot to that of the other; false where nobody can say."""
        return False

    def changed(self, session: SparkSession, table: str, since: str, until: str) -> ChangedRows:
        """The rows of a table that came and went between two snapshots, as frames of a session.

        Raises:
            ChangesUnknown: the format cannot say.
        """
        raise ChangesUnknown(Code.SOURCE_NO_CHANGED_ROWS, f"{table} does not tell which rows came and went")


class ViewFormat(TableFormat):
    """A kind of tables that also holds views."""

    def rows(self, session: SparkSession, definition: Definition) -> DataFrame:
        """The rows in a view's table."""
        return session.table(sql.with_catalog(definition.view))

    def key_files(self, session: SparkSession, launch: Launch, reach: Reach) -> KeyFiles | None:
        """The files of a view that hold the keys of a run, to be written anew. ``None``: whole partitions are."""
        return None

    def unstorable(self, definition: Definition) -> str:
        """Why the columns of a view cannot be stored, where the format takes such a table and refuses each write; else
        empty."""
        return ""

    def sizes(self, definition: Definition) -> Sequence[int]:
        """The bytes of each file of a view's table, as far as they may be put together: none, if the format says so."""
        return ()

    def compact(self, definition: Definition, compaction: Compaction) -> PutTogether:
        """Puts small files of a view's table together, by one commit that says that no row changed. It fails if another
        commit replaced one of them.

        Raises:
            ViewGone: the view has no table.
        """
        raise NotImplementedError(f"{self.name} has nothing to put together")

    def step_of(self, definition: Definition) -> str:
        """The catalog that can commit the table of a view in one step with its other tables; empty: there is none."""
        return ""

    def show(self, members: Sequence[tuple[Definition, str]]) -> GroupShown:
        """Lets readers without Headwater see views at some snapshots, by one step. The views have one ``step_of``.

        Raises:
            NotNow: other programs commit to one of them all the time.
        """
        raise NotImplementedError(f"{self.name} has no commit of several tables")

    def show_newest(self, definition: Definition) -> None:
        """Lets readers without Headwater see the newest rows of a view that is committed alone from now on."""

    @abstractmethod
    def write(
        self, launch: Launch, frame: DataFrame, place: str, hashed: bool, key_files: KeyFiles | None = None
    ) -> Counted:
        """Writes a run's rows where no reader sees them, and counts them: to a place, or into the view's table. They
        take the place of the files that hold its keys, or of its partitions."""

    @abstractmethod
    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        """The output that lies at a place; ``known`` are its rows and sums."""

    @abstractmethod
    def require(self, definition: Definition) -> None:
        """Makes sure that a run has a table to fill: the view's own, or one beside it that is to take its place. It
        never makes that of a view that has none: somebody dropped it.

        Raises:
            ViewGone: the view has no table, or another table has its name, or its table has another name.
        """

    @abstractmethod
    def publish(self, launch: Launch, written: Written) -> Replaced:
        """Makes readers see the output, whole or not at all.

        Raises:
            TakenOver: a higher version is published already.
            ViewGone: the view has no table, or another table has its name.
        """

    @abstractmethod
    def published(self, definition: Definition) -> set[str] | None:
        """The places that readers of a view are sent to, with those above them; ``None`` if its table is not there."""

    def newest(self, definition: Definition) -> LastPublished | None:
        """What was published last of a view, by any store; ``None``: the table is not there, or cannot say."""
        return None

    @abstractmethod
    def highest(self, definition: Definition) -> Version:
        """The highest version that was written of a view; 0: none. A store that was put back from a copy may not know
        it, and must not give it again: readers have those rows."""

    @abstractmethod
    def location(self, definition: Definition) -> str:
        """The directory of a view's table, in which its versions or its files lie; empty if the table is not there."""

    @abstractmethod
    def expire(self, definition: Definition, locations: Sequence[str], since: Version | None = None) -> bool:
        """Deletes superseded places, but for those that are published; false if nobody can say which are. What the
        versions from ``since`` on replaced stays, as an epoch names it."""
