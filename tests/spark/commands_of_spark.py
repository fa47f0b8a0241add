"""The commands of Spark, and what each means for the table of a view."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyspark


def _named(text: str) -> set[str]:
    return set(text.split())


COMMAND = "org/apache/spark/sql/catalyst/plans/logical/Command"
JARS = ("catalyst", "spark-sql_", "hive_", "pipelines", "connect", "sql-api")

REFUSED = {
    "AlterTableAddColumnsCommand": "ALTER TABLE v ADD COLUMNS (m INT)",
    "AlterTableAddPartitionCommand": "ALTER TABLE v ADD PARTITION (p = 7)",
    "AlterTableChangeColumnCommand": "ALTER TABLE v CHANGE COLUMN n n BIGINT COMMENT 'x'",
    "AlterTableDropPartitionCommand": "ALTER TABLE v DROP PARTITION (p = 1)",
    "AlterTableRenameCommand": "ALTER TABLE v RENAME TO w",
    "AlterTableRenamePartitionCommand": "ALTER TABLE v PARTITION (p = 1) RENAME TO PARTITION (p = 9)",
    "AlterTableSerDePropertiesCommand": "ALTER TABLE v SET SERDEPROPERTIES ('x' = '1')",
    "AlterTableSetLocationCommand": "ALTER TABLE v SET LOCATION '/tmp/elsewhere'",
    "AlterTableSetPropertiesCommand": "ALTER TABLE v SET TBLPROPERTIES ('headwater.owner' = 'x')",
    "AlterTableUnsetPropertiesCommand": "ALTER TABLE v UNSET TBLPROPERTIES ('headwater.owner')",
    "InsertIntoDataSourceDirCommand": "INSERT OVERWRITE DIRECTORY '{root}' USING parquet SELECT 1",
    "InsertIntoHadoopFsRelationCommand": "INSERT INTO v VALUES (1, 1)",
    "InsertIntoHiveDirCommand": "INSERT OVERWRITE DIRECTORY '{root}' STORED AS parquet SELECT 1",
    "LoadDataCommand": "LOAD DATA LOCAL INPATH '{root}' INTO TABLE v PARTITION (p = 1)",
    "RepairTableCommand": "MSCK REPAIR TABLE v",
    "TruncateTableCommand": "TRUNCATE TABLE v",
}
"""A statement of each command that changes a table of files, or a directory."""

HARMLESS = {
    "AnalyzeColumnCommand": "ANALYZE TABLE v COMPUTE STATISTICS FOR COLUMNS n",
    "AnalyzePartitionCommand": "ANALYZE TABLE v PARTITION (p) COMPUTE STATISTICS",
    "AnalyzeTableCommand": "ANALYZE TABLE v COMPUTE STATISTICS",
    "AnalyzeTablesCommand": "ANALYZE TABLES COMPUTE STATISTICS NOSCAN",
    "CacheTable": "CACHE TABLE v",
    "UncacheTable": "UNCACHE TABLE v",
    "CommentOnTable": "COMMENT ON TABLE v IS 'sums'",
    "CreateTableLikeCommand": "CREATE TABLE copied LIKE v",
    "CreateViewCommand": "CREATE OR REPLACE VIEW over_v AS SELECT * FROM v",
    "RefreshTableCommand": "REFRESH TABLE v",
    "RefreshResource": "REFRESH '{root}'",
    "DescribeTableCommand": "DESCRIBE TABLE EXTENDED v",
    "ShowPartitionsCommand": "SHOW PARTITIONS v",
}
"""A statement of each command that names a table, and leaves its rows as they are."""

LAKE = _named(
    """AddCheckConstraint AddColumns AddConstraint AddPartitions AlterColumns AlterTableClusterBy AlterTableCollation
    AppendData CreateIndex DeleteFromTable DeleteFromTableWithFilters DropColumns DropConstraint DropIndex
    DropPartitions LoadData MergeIntoTable OverwriteByExpression OverwritePartitionsDynamic RecoverPartitions
    RenameColumn RenamePartitions RenameTable RepairTable ReplaceColumns ReplaceData ReplaceTable
    ReplaceTableAsSelect
    SetTableLocation SetTableProperties SetTableSerDeProperties TruncatePartition TruncateTable UnsetTableProperties
    UpdateTable WriteDelta"""
)
"""Those for tables of other catalogs. ``Commands.scala`` takes each command that names a table for a change of it,
unless it knows better; the tests of lake views refuse some of each kind."""

CREATING = _named(
    """CreateDataSourceTableAsSelectCommand CreateDataSourceTableCommand CreateHiveTableAsSelectCommand CreateTable
    CreateTableAsSelect CreateTableCommand CreateTempViewUsing CreateView CacheTableAsSelect SaveAsV1TableCommand
    CreateMaterializedViewAsSelect CreateStreamingTable CreateStreamingTableAsSelect CreateFlowCommand"""
)
"""Those that make a table or view of a new name. The guard also sees the write within them."""

DROPPING = _named("DropTable DropTableCommand DropDatabaseCommand DropNamespace DropView DropTempViewCommand")
"""A drop is noticed."""

OTHER_SOURCES = _named("InsertIntoDataSourceCommand InsertIntoHiveTable SaveIntoDataSourceCommand")
"""Those of tables that no view has, or of paths that ``Commands.scala`` takes from their options."""

NO_TABLE = _named(
    """AddArchivesCommand AddFilesCommand AddJarsCommand AlterDatabasePropertiesCommand AlterDatabaseSetLocationCommand
    AlterViewAs AlterViewAsCommand AlterViewSchemaBinding AlterViewSchemaBindingCommand AnalyzeColumn AnalyzeTable
    AnalyzeTables CommentOnNamespace CompoundBody CreateDatabaseCommand
    CreateFunction CreateFunctionCommand CreateNamespace
    CreateSQLFunctionCommand CreateUserDefinedFunction CreateVariable DescribeColumn DescribeColumnCommand
    DescribeDatabaseCommand DescribeFunction DescribeFunctionCommand DescribeNamespace DescribeProcedureCommand
    DescribeQueryCommand DescribeRelation DescribeRelationJsonCommand DropFunction DropFunctionCommand DropVariable
    ExplainCommand ExternalCommandExecutor ListArchivesCommand ListFilesCommand ListJarsCommand NoopCommand
    RefreshFunction RefreshFunctionCommand RefreshTable ResetCommand SetCatalogAndNamespace SetCatalogCommand SetCommand
    SetNamespaceCollationCommand SetNamespaceCommand SetNamespaceLocation SetNamespaceProperties SetVariable
    SetViewProperties ShowCatalogsCommand ShowColumns ShowColumnsCommand ShowCreateTable ShowCreateTableAsSerdeCommand
    ShowCreateTableCommand ShowCurrentNamespaceCommand ShowFunctions ShowFunctionsCommand ShowNamespacesCommand
    ShowPartitions ShowProceduresCommand ShowTablePartition ShowTableProperties ShowTablePropertiesCommand ShowTables
    ShowTablesCommand ShowTablesExtended ShowViews ShowViewsCommand StreamingExplainCommand
    UnsetNamespacePropertiesCommand UnsetViewProperties"""
)
"""Those that read, or that change something else than a table. Statements of a script are commands of their own."""


def commands() -> set[str]:
    """The names of all classes of commands in Spark's jars, by their files alone."""
    jars = [each for each in _sparks() if any(part in each.name for part in JARS)]
    return _commands(jars, jars)


def commands_in(jars: Iterable[Path]) -> set[str]:
    """The names of those in the jars of a format."""
    own = list(jars)
    return _commands([*_sparks(), *own], own)


def _sparks() -> list[Path]:
    return list((Path(pyspark.__file__).parent / "jars").glob("spark-*.jar"))


def _commands(known: Iterable[Path], asked: Iterable[Path]) -> set[str]:
    """The names of the classes of commands in some of the jars."""
    parents: dict[str, list[str]] = {}
    wanted: set[str] = set()
    within = set(asked)
    for jar in known:
        for name, above, is_abstract in _classes(jar):
            parents[name] = above
            if jar in within and not is_abstract:
                wanted.add(name)
    found = {COMMAND: True}

    def is_command(name: str) -> bool:
        if name not in found:
            found[name] = any(map(is_command, parents.get(name, ())))
        return found[name]

    return {name.rpartition("/")[2] for name in wanted if is_command(name)}


def _classes(jar: Path) -> Iterator[tuple[str, list[str], bool]]:
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if (
                entry.endswith(".class")
                and ("/sql/" in entry or "/tables/" in entry)
                and "$" not in entry.rpartition("/")[2]
            ):
                yield _header(archive.read(entry))


def _header(data: bytes) -> tuple[str, list[str], bool]:
    """The name of a class, those of its parents, and whether it is abstract or an interface."""
    count, at, number = struct.unpack_from(">H", data, 8)[0], 10, 1
    texts: dict[int, bytes] = {}
    names: dict[int, int] = {}
    while number < count:
        match data[at]:
            case 1:
                size = struct.unpack_from(">H", data, at + 1)[0]
                texts[number] = data[at + 3 : at + 3 + size]
                at += 3 + size
            case 7:
                names[number] = struct.unpack_from(">H", data, at + 1)[0]
                at += 3
            case 8 | 16 | 19 | 20:
                at += 3
            case 15:
                at += 4
            case 5 | 6:
                at, number = at + 9, number + 1
            case _:
                at += 5
        number += 1
    flags, this, parent, interfaces = struct.unpack_from(">HHHH", data, at)
    above = (parent, *struct.unpack_from(f">{interfaces}H", data, at + 8))
    return texts[names[this]].decode(), [texts[names[each]].decode() for each in above if each], bool(flags & 0x0600)
