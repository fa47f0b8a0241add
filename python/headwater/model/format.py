"""What each table format can do. Code asks for an ability, and decides nothing by a format's name.

The shim reads the same table: ``jvm-shim/src/main/resources/headwater/formats.json``, which ``make golden`` writes.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

FILES = "files"
"""What all formats are called together whose tables are ``listed``."""


@frozen
class Format:
    """A table format. One that is not in the table has no ability.

    Attributes:
        name: the word after ``USING``.
        title: its name in messages.

        followed: a look at a table finds what changed in it, so that a view can read it.
        listed: the rows are in the files that a listing of the table's directories finds.
        snapshots: a table can be read as it was at a snapshot.
        tells_changes: a table tells which rows came and went between two snapshots.
        by_path: a query reads the table in a directory as ``format.`path```.
        zoned: partition values that are timestamps are spelled in a time zone.

        holds_views: views can be stored in it.
        commits: the table of a view stays at its place, and one commit publishes the files of a run there. Nobody reads
            them before.
        replaces_files: a run can replace just the files that hold its keys.
        incremental: runs by changed rows were tried on views in it by random changes.
        tells_empty_text: a partition of the empty string is not that of ``NULL``.
        one_step_exchange: any catalog lets a table take the place of another in one step for readers. Without it, only
            Hive's metastore does, which keeps the columns of the other one.
        by_position: a file does not tell which value is of which column; the order of the columns does.
        blank_rows: a row whose only column is NULL is an empty line, and no row when it is read.
        options: with which the files of a view are written and read, so that they hold its values as they are.
        readers: what readers are told beside the ``options``.
        columns_in_metastore: Hive's metastore has the columns of a table with their types.
        properties_in_log: the properties of a table are in its log, and not in the metastore.
        purges: a dropped table leaves its files, unless the statement says ``PURGE``.
        kept_by_sessions: a session that read a table keeps it for a while, with the rows of that moment.

        own_catalogs: it has catalogs beside the session's, with tables that the metastore does not know.
        artifact: the Maven package with its classes; empty: Spark has them.
        needs: a class that an application has if it has the artifact.
        catalogs: what the names of the classes of its catalogs begin with.
        relations: the class that lists the files of a relation; empty if its relations are of ``catalogs``.
        remedy: how the session catalog comes to hold its tables.
        log: what says which files in a directory are rows of a table.
        directory: the file or directory in it by which such a directory is known; a ``*`` is any start of a name.
    """

    name: str
    title: str = ""
    followed: bool = False
    listed: bool = False
    snapshots: bool = False
    tells_changes: bool = False
    by_path: bool = False
    zoned: bool = False
    holds_views: bool = False
    commits: bool = False
    replaces_files: bool = False
    incremental: bool = False
    tells_empty_text: bool = False
    one_step_exchange: bool = False
    by_position: bool = False
    blank_rows: bool = False
    options: tuple[tuple[str, str], ...] = ()
    readers: tuple[tuple[str, str], ...] = ()
    columns_in_metastore: bool = False
    properties_in_log: bool = False
    purges: bool = False
    kept_by_sessions: bool = False
    own_catalogs: bool = False
    artifact: str = ""
    needs: str = ""
    catalogs: str = ""
    relations: str = ""
    remedy: str = ""
    log: str = ""
    directory: str = ""

    @staticmethod
    def of(name: str) -> Format:
        """The format of a name."""
        return _BY_NAME.get(name) or Format(name)

    @property
    def own_classes(self) -> bool:
        """Whether classes of its own find the rows of a table."""
        return bool(self.needs)

    @property
    def tables(self) -> str:
        """The name under which ``spark.tables.table_format.TableFormat`` has its tables."""
        return FILES if self.listed else self.name

    @property
    def article(self) -> str:
        """Its title, as in "an Iceberg table"."""
        return f"{'an' if self.title[:1] in 'AEIOU' else 'a'} {self.title}"


def _files(name: str, title: str, **abilities: Any) -> Format:
    return Format(name, title, followed=True, listed=True, one_step_exchange=True, **abilities)


def _lake(name: str, title: str, **abilities: Any) -> Format:
    read: Any = dict.fromkeys(("followed", "snapshots", "tells_changes", "zoned"), True)
    held: Any = dict.fromkeys(("holds_views", "commits", "replaces_files", "incremental"), True)
    return Format(name, title, **read, **held, **abilities)


_MOMENTS = (
    ("timeZone", "UTC"),
    ("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"),
    ("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
)
"""Timestamps with all that they have. By default, Spark writes milliseconds. In UTC no offset has seconds, for which
the parser of ``timeParserPolicy = LEGACY`` knows no pattern."""

_TEXTS = (
    ("ignoreLeadingWhiteSpace", "false"),
    ("ignoreTrailingWhiteSpace", "false"),
    ("multiLine", "true"),
    ("lineSep", "\n"),
    ("escape", '"'),
)
"""Texts with blanks at their ends, several lines, quotes and backslashes. Without a stated end of lines, the parser
takes the first that it meets, also within a text, and replaces it by another."""

_SESSION = "set spark.sql.catalog.spark_catalog to"

FORMATS = (
    _files("parquet", "Parquet", holds_views=True, incremental=True, columns_in_metastore=True),
    _files("orc", "ORC", holds_views=True, columns_in_metastore=True),
    _files("json", "JSON", holds_views=True, options=_MOMENTS),
    _files(
        "csv",
        "CSV",
        holds_views=True,
        by_position=True,
        blank_rows=True,
        options=(*_MOMENTS, *_TEXTS),
        # NULL is nothing between two commas, and the empty text `""`. Spark tells these apart if a word means NULL.
        readers=(("nullValue", "headwater.null"),),
    ),
    _files("text", "text"),
    _files("xml", "XML"),
    _files("avro", "Avro"),
    _lake(
        "delta",
        "Delta",
        by_path=True,
        one_step_exchange=True,
        properties_in_log=True,
        artifact="io.delta:delta-spark_4.1_2.13",
        needs="org.apache.spark.sql.delta.DeltaLog",
        catalogs="org.apache.spark.sql.delta.catalog.",
        relations="org.apache.spark.sql.delta.files.TahoeLogFileIndex",
        remedy=f"{_SESSION} org.apache.spark.sql.delta.catalog.DeltaCatalog, and put io.delta:delta-spark_4.1_2.13 "
        "into spark.jars.packages",
        log="log",
        directory="_delta_log",
    ),
    _lake(
        "iceberg",
        "Iceberg",
        tells_empty_text=True,
        purges=True,
        kept_by_sessions=True,
        own_catalogs=True,
        artifact="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13",
        needs="org.apache.iceberg.spark.SparkCatalog",
        catalogs="org.apache.iceberg.spark.",
        remedy=f"name the view in an Iceberg catalog, or {_SESSION} org.apache.iceberg.spark.SparkSessionCatalog",
        log="metadata",
        directory="metadata/*.metadata.json",
    ),
    Format("hudi", "Hudi", directory=".hoodie"),
    Format("jdbc", "JDBC"),
)
"""The formats with a meaning to Headwater. A view without ``USING`` has the first one that its catalog holds."""

DEFAULT = FORMATS[0].name

_BY_NAME = {each.name: each for each in FORMATS}
