"""A statement of each command that can change a table or a directory, run on a view of each format.

A line is the class of the command in the plan, and a statement. ``{v}`` is the view, ``{root}`` its directory,
``{files}`` that of the view of files, ``{n}`` the view's name in its catalog, and ``{db}`` the database.
"""

from __future__ import annotations


def _lines(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, said) for name, _, said in (each.strip().partition(" ") for each in text.strip().splitlines()))


PLACES = _lines("""
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}' USING json SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}/.totals' USING parquet SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}/.totals/v1' USING parquet SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}/p=1' USING parquet SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}/data/p=1' USING parquet SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY '{root}/../../{home}' USING parquet SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE DIRECTORY USING parquet OPTIONS (path '{root}') SELECT 1
InsertIntoHiveDirCommand INSERT OVERWRITE DIRECTORY '{root}' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' SELECT 1
InsertIntoDataSourceDirCommand INSERT OVERWRITE LOCAL DIRECTORY '{root}' STORED AS parquet SELECT 1
LoadDataCommand LOAD DATA INPATH '{root}' INTO TABLE as_text
AlterTableAddPartitionCommand ALTER TABLE ordinary ADD PARTITION (p = 5) LOCATION '{root}'
AlterTableSetLocationCommand ALTER TABLE ordinary PARTITION (p = 1) SET LOCATION '{root}/p=1'
AlterTableSetLocationCommand ALTER TABLE ordinary SET LOCATION '{root}'
CreateTableLikeCommand CREATE TABLE other LIKE ordinary LOCATION '{root}'
CreateDataSourceTableCommand CREATE TABLE other (n INT) USING parquet LOCATION '{root}'
CreateDataSourceTableAsSelectCommand CREATE TABLE other USING parquet LOCATION '{root}/p=1' AS SELECT 1 AS n
CreateTableCommand CREATE TABLE other (n INT) STORED AS textfile LOCATION '{root}'
CreateHiveTableAsSelectCommand CREATE TABLE other STORED AS textfile LOCATION '{root}' AS SELECT 1 AS n
CreateNamespace CREATE DATABASE {db}_other LOCATION '{root}'
SetNamespaceLocation ALTER DATABASE {db} SET LOCATION '{root}'
""")
"""Those that write or empty a view's directory, or give it to somebody else: each is refused, whatever the format."""

OF_FILES = _lines("""
ReplaceTableAsSelect CREATE OR REPLACE TABLE {v} USING delta AS SELECT 1 AS n
CreateDataSourceTableAsSelectCommand CREATE TABLE {v} AS SELECT 1 AS n
ConvertToDeltaCommand CONVERT TO DELTA {v}
ConvertToDeltaCommand CONVERT TO DELTA parquet.`{root}`
ConvertToDeltaCommand CONVERT TO DELTA parquet.`{root}/.v1` PARTITIONED BY (p INT)
CreateDeltaTableCommand CREATE OR REPLACE TABLE {v} SHALLOW CLONE base_delta
CreateDeltaTableCommand CREATE TABLE other SHALLOW CLONE base_delta LOCATION '{root}/x'
CreateTable CREATE TABLE other (n INT) USING delta LOCATION '{root}'
CreateTableAsSelect CREATE TABLE other USING delta LOCATION '{root}' AS SELECT 1 AS n
InsertIntoHadoopFsRelationCommand INSERT OVERWRITE {v} PARTITION (p) SELECT 1, 1
InsertIntoHadoopFsRelationCommand INSERT OVERWRITE at_files VALUES (1)
InsertIntoHiveTable INSERT OVERWRITE TABLE text_at_files VALUES (1)
Union FROM ordinary INSERT INTO {v} SELECT n, p INSERT INTO ordinary SELECT n, p
UnresolvedWith WITH x AS (SELECT 1 AS n, 1 AS p) INSERT INTO {v} SELECT * FROM x
UnresolvedExecuteImmediate EXECUTE IMMEDIATE 'INSERT INTO IDENTIFIER(?) VALUES (1, 1)' USING '{v}'
PlanWithUnresolvedIdentifier INSERT INTO IDENTIFIER('{v}') VALUES (1, 1)
CompoundBody BEGIN DECLARE x INT DEFAULT 1; INSERT INTO {v} VALUES (x, 1); END
CompoundBody BEGIN EXECUTE IMMEDIATE 'TRUNCATE TABLE {v}'; END
CompoundBody BEGIN FOR r AS SELECT 1 AS n DO INSERT INTO {v} VALUES (r.n, 1); END FOR; END
CreateStreamingTable CREATE STREAMING TABLE {v}
CreateFlowCommand CREATE FLOW f AS INSERT INTO {v} BY NAME SELECT 1 AS n, 1 AS p
""")
"""Further ones that are refused of a view of files."""

REFUSED = _lines("""
InsertIntoStatement INSERT INTO {v} VALUES (1, 1)
AppendData INSERT INTO {v} BY NAME SELECT 1 AS n, 1 AS p
OverwriteByExpression INSERT INTO {v} REPLACE WHERE p = 1 SELECT 1, 1
OverwriteByExpression INSERT OVERWRITE {v} PARTITION (p = 1) VALUES (1)
DeleteFromTable DELETE FROM {v}
DeleteFromTable DELETE FROM {v} WHERE n = 1
UpdateTable UPDATE {v} SET n = 2
MergeIntoTable MERGE INTO {v} t USING (SELECT 1 AS n) o ON o.n = t.n WHEN MATCHED THEN DELETE
TruncateTable TRUNCATE TABLE {v}
ReplaceTable CREATE OR REPLACE TABLE {v} (n BIGINT) USING {format}
ReplaceTable REPLACE TABLE {v} (n BIGINT) USING {format}
ReplaceTableAsSelect CREATE OR REPLACE TABLE {v} USING {format} AS SELECT 1 AS n
AddColumns ALTER TABLE {v} ADD COLUMN m INT
DropColumns ALTER TABLE {v} DROP COLUMN n
RenameColumn ALTER TABLE {v} RENAME COLUMN n TO m
AlterColumns ALTER TABLE {v} ALTER COLUMN n COMMENT 'x'
AlterColumns ALTER TABLE {v} ALTER COLUMN n TYPE DECIMAL(20,0)
ReplaceColumns ALTER TABLE {v} REPLACE COLUMNS (m INT)
RenameTable ALTER TABLE {v} RENAME TO {place}.w
SetTableLocation ALTER TABLE {v} SET LOCATION '/tmp/x'
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('headwater.view' = '9')
UnsetTableProperties ALTER TABLE {v} UNSET TBLPROPERTIES ('headwater.view')
SetTableSerDeProperties ALTER TABLE {v} SET SERDEPROPERTIES ('x' = '1')
RecoverPartitions ALTER TABLE {v} RECOVER PARTITIONS
RepairTable MSCK REPAIR TABLE {v}
LoadData LOAD DATA LOCAL INPATH '/tmp/x' INTO TABLE {v}
AlterTableAddConstraint ALTER TABLE {v} ADD CONSTRAINT c CHECK (n > 0)
AddConstraint ALTER TABLE {v} ADD CONSTRAINT pk PRIMARY KEY (n)
AlterTableDropConstraint ALTER TABLE {v} DROP CONSTRAINT c
AlterTableClusterBy ALTER TABLE {v} CLUSTER BY (n)
AlterTableCollation ALTER TABLE {v} DEFAULT COLLATION UTF8_LCASE
CreateIndex CREATE INDEX ix ON {v} (n)
DropIndex DROP INDEX ix ON {v}
UnresolvedExecuteImmediate EXECUTE IMMEDIATE 'DELETE FROM {v}'
CompoundBody BEGIN DELETE FROM {v}; END
""")
"""Those that are refused of a view of a lake format."""

HARMLESS = _lines("""
CreateTable CREATE TABLE {v} (n BIGINT) USING {format}
CreateTable CREATE TABLE IF NOT EXISTS {v} (n BIGINT) USING {format}
CreateTableAsSelect CREATE TABLE IF NOT EXISTS {v} USING {format} AS SELECT 1 AS n
TruncatePartition TRUNCATE TABLE {v} PARTITION (p = 1)
AddPartitions ALTER TABLE {v} ADD PARTITION (p = 7)
DropPartitions ALTER TABLE {v} DROP PARTITION (p = 1)
RenamePartitions ALTER TABLE {v} PARTITION (p = 1) RENAME TO PARTITION (p = 9)
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('team' = 'x')
UnsetTableProperties ALTER TABLE {v} UNSET TBLPROPERTIES ('team')
CommentOnTable COMMENT ON TABLE {v} IS 'sums'
AnalyzeTable ANALYZE TABLE {v} COMPUTE STATISTICS
AnalyzeColumn ANALYZE TABLE {v} COMPUTE STATISTICS FOR COLUMNS n
CacheTable CACHE TABLE {v}
UncacheTable UNCACHE TABLE {v}
RefreshTable REFRESH TABLE {v}
""")
"""Those that pass or that the format itself refuses: the view of a lake format is as before."""

DELTA = _lines("""
AlterTableAddConstraint ALTER TABLE {v} ADD CONSTRAINT c CHECK (n > 0)
AlterTableDropConstraint ALTER TABLE {v} DROP CONSTRAINT c
AlterTableDropFeature ALTER TABLE {v} DROP FEATURE deletionVectors
AlterTableDropFeature ALTER TABLE {v} DROP FEATURE deletionVectors TRUNCATE HISTORY
AlterColumnSyncIdentity ALTER TABLE {v} ALTER COLUMN n SYNC IDENTITY
AlterTableClusterBy ALTER TABLE {v} CLUSTER BY NONE
ConvertToDeltaCommand CONVERT TO DELTA {v}
ConvertToDeltaCommand CONVERT TO DELTA delta.`{root}`
ConvertToDeltaCommand CONVERT TO DELTA parquet.`{root}/p=1`
CreateDeltaTableCommand CREATE OR REPLACE TABLE {v} SHALLOW CLONE base_delta
CreateDeltaTableCommand CREATE OR REPLACE TABLE delta.`{root}` SHALLOW CLONE base_delta
CreateTable CREATE TABLE other (n INT) USING delta LOCATION '{root}/within'
DeleteCommand DELETE FROM delta.`{root}`
UpdateCommand UPDATE delta.`{root}` SET n = 2
MergeIntoCommand MERGE INTO delta.`{root}` t USING (SELECT 1 AS n) o ON o.n = t.n WHEN MATCHED THEN DELETE
AppendData INSERT INTO delta.`{root}` VALUES (1, 1)
AppendData INSERT INTO named_again VALUES (1, 1)
TruncateDeltaTableCommand TRUNCATE TABLE {v}
RestoreTableStatement RESTORE TABLE {v} TO VERSION AS OF 0
RestoreTableStatement RESTORE TABLE delta.`{root}` TO VERSION AS OF 0
SetTableProperties ALTER TABLE delta.`{root}` SET TBLPROPERTIES ('delta.appendOnly' = 'true')
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')
UnsetTableProperties ALTER TABLE {v} UNSET TBLPROPERTIES ('delta.enableRowTracking')
""")
"""Those of Delta that are refused."""

DELTA_HARMLESS = _lines("""
VacuumTableCommand VACUUM {v}
VacuumTableCommand VACUUM '{root}' LITE
OptimizeTableCommand OPTIMIZE {v}
OptimizeTableCommand OPTIMIZE delta.`{root}` ZORDER BY (n)
DeltaReorgTable REORG TABLE {v} APPLY (PURGE)
DeltaGenerateCommand GENERATE symlink_format_manifest FOR TABLE {v}
DescribeDeltaDetailCommand DESCRIBE DETAIL {v}
DescribeDeltaHistoryCommand DESCRIBE HISTORY {v}
CreateView CREATE VIEW {v} AS SELECT 1 AS n
DropView DROP VIEW {v}
CacheTableAsSelect CACHE TABLE held AS SELECT * FROM {v}
ShowDeltaPartitionsCommand SHOW PARTITIONS {v}
ShowDeltaTableColumnsCommand SHOW COLUMNS IN {v}
CreateDeltaTableCommand CREATE TABLE cloned SHALLOW CLONE {v}
CreateDeltaTableCommand CREATE TABLE IF NOT EXISTS {v} SHALLOW CLONE base_delta
DropTable DROP TABLE cloned
CreateTable CREATE TABLE named_too USING delta LOCATION '{root}'
DropTable DROP TABLE named_too
""")
"""Those of Delta that leave the view's rows as they are: anybody may tidy up."""

DELTA_INNER = {
    "AlterTableAddColumnsDeltaCommand": "AddColumns",
    "AlterTableAddConstraintDeltaCommand": "AlterTableAddConstraint",
    "AlterTableChangeColumnDeltaCommand": "AlterColumns",
    "AlterTableClusterByDeltaCommand": "AlterTableClusterBy",
    "AlterTableDropColumnsDeltaCommand": "DropColumns",
    "AlterTableDropConstraintDeltaCommand": "AlterTableDropConstraint",
    "AlterTableDropFeatureDeltaCommand": "AlterTableDropFeature",
    "AlterTableReplaceColumnsDeltaCommand": "ReplaceColumns",
    "AlterTableSetLocationDeltaCommand": "SetTableLocation",
    "AlterTableSetPropertiesDeltaCommand": "SetTableProperties",
    "AlterTableUnsetPropertiesDeltaCommand": "UnsetTableProperties",
    "CloneTableCommand": "CreateDeltaTableCommand",
    "DeltaDynamicPartitionOverwriteCommand": "OverwriteByExpression",
    "DeltaInsertReplaceOnOrUsingCommand": "OverwriteByExpression",
    "DeltaMergeInto": "MergeIntoCommand",
    "DeltaReorgTableCommand": "DeltaReorgTable",
    "RestoreTableCommand": "RestoreTableStatement",
    "RowTrackingBackfillCommand": "SetTableProperties",
    "RowTrackingUnBackfillCommand": "SetTableProperties",
    "WriteIntoDelta": "AppendData",
}
"""What Delta runs within a command that the guard has seen before."""

ICEBERG = _lines("""
DeleteFromTable DELETE FROM {v}.branch_main
ReplaceData DELETE FROM {v} WHERE n = 1
AddPartitionField ALTER TABLE {v} ADD PARTITION FIELD bucket(4, n)
DropPartitionField ALTER TABLE {v} DROP PARTITION FIELD p
ReplacePartitionField ALTER TABLE {v} REPLACE PARTITION FIELD p WITH truncate(10, p)
SetIdentifierFields ALTER TABLE {v} SET IDENTIFIER FIELDS p
DropIdentifierFields ALTER TABLE {v} DROP IDENTIFIER FIELDS p
CreateOrReplaceBranch ALTER TABLE {v} CREATE BRANCH dev
CreateOrReplaceBranch ALTER TABLE {v} CREATE OR REPLACE BRANCH main
CreateOrReplaceTag ALTER TABLE {v} CREATE TAG old
CreateIcebergView CREATE VIEW {v} AS SELECT 1 AS n
DropIcebergView DROP VIEW {v}
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('current-snapshot-id' = '1')
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('Cherry-Pick-Snapshot-Id' = '1')
""")
"""Those of Iceberg that are refused."""

ICEBERG_HARMLESS = _lines("""
SetWriteDistributionAndOrdering ALTER TABLE {v} WRITE ORDERED BY n
SetWriteDistributionAndOrdering ALTER TABLE {v} WRITE UNORDERED
DropBranch ALTER TABLE {v} DROP BRANCH IF EXISTS dev
DropBranch ALTER TABLE {v} DROP BRANCH main
DropTag ALTER TABLE {v} DROP TAG IF EXISTS old
SetTableProperties ALTER TABLE {v} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')
ShowIcebergViews SHOW VIEWS IN {place}
""")
"""Those of Iceberg that leave the view's rows as they are, or that Iceberg refuses."""

PROCEDURES = _lines("""
rollback_to_snapshot ('{n}', {snapshot})
rollback_to_timestamp ('{n}', TIMESTAMP'2024-01-01')
set_current_snapshot ('{n}', {snapshot})
cherrypick_snapshot ('{n}', {snapshot})
migrate ('lake.{n}')
migrate ('spark_catalog.{db}.v')
snapshot ('spark_catalog.{db}.ordinary', 'lake.{n}')
snapshot (source_table => 'spark_catalog.{db}.ordinary', table => '{db}.other', location => '{root}')
add_files ('{n}', 'spark_catalog.{db}.ordinary')
add_files ('{db}.base_iceberg', 'spark_catalog.{db}.v')
add_files ('{db}.base_iceberg', '`parquet`.`{files}`')
register_table ('{n}', '{root}/metadata/v1.metadata.json')
publish_changes ('{n}', 'w')
fast_forward ('{n}', 'main', 'main')
remove_orphan_files (table => '{db}.base_iceberg', location => '{root}/data')
remove_orphan_files (table => '{db}.base_iceberg', location => '{files}')
rewrite_table_path ('{db}.base_iceberg', '/x', '/y', null, null, '{files}')
""")
"""Procedures of Iceberg that are refused."""

PROCEDURES_HARMLESS = _lines("""
rewrite_data_files ('{n}')
rewrite_data_files (table => '{n}', strategy => 'sort', sort_order => 'n')
rewrite_manifests ('{n}')
rewrite_position_delete_files ('{n}')
remove_orphan_files ('{n}')
remove_orphan_files (table => '{n}', location => '{root}/data')
expire_snapshots ('{n}')
expire_snapshots (table => '{n}', older_than => TIMESTAMP'2100-01-01', retain_last => 1)
ancestors_of ('{n}')
create_changelog_view (table => '{n}')
compute_table_stats ('{n}')
compute_partition_stats ('{n}')
rewrite_table_path (table => '{n}', source_prefix => '{root}', target_prefix => '/tmp/y')
snapshot ('{n}', '{db}.other')
""")
"""Those that leave the rows of the view as they are, or that Iceberg refuses."""

UNREACHED = {
    "AddCheckConstraint": "Delta's parser takes the statement",
    "DropConstraint": "Delta's parser takes the statement",
    "CreateMaterializedViewAsSelect": "it is Headwater's own statement",
    "CreateStreamingTableAsSelect": "it needs a stream; CreateStreamingTable stands for it",
    "CreateTempViewUsing": "a temporary view is no table",
    "DropTempViewCommand": "a temporary view is no table",
    "DropDatabaseCommand": "a drop is noticed, and Headwater forgets the views",
    "DropNamespace": "a drop is noticed, and Headwater forgets the views",
    "DropTableCommand": "a drop is noticed, and Headwater forgets the view",
    "DeleteFromTableWithFilters": "the optimizer makes it of DeleteFromTable, which the guard has seen",
    "InsertIntoDataSourceCommand": "no view is a table of such a source",
    "OverwritePartitionsDynamic": "a frame makes it: overwritePartitions",
    "SaveAsV1TableCommand": "a frame makes it: saveAsTable",
    "SaveIntoDataSourceCommand": "a frame makes it: save",
    "WriteDelta": "tables that are merged on read make it; ReplaceData stands for it",
}
"""Those that no statement of a table here makes, and why."""
