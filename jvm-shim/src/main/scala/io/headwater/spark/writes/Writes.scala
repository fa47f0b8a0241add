package io.headwater.spark

import scala.collection.immutable.SortedMap
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1
import org.apache.spark.sql.hive.execution.{CreateHiveTableAsSelectCommand, InsertIntoHiveDirCommand, InsertIntoHiveTable}

/** Which tables and paths an execution wrote, as far as its plan says. */
object Writes {

  /** A statement that failed in analysis wrote nothing; one that failed later may have. */
  def of(execution: QueryExecution): Seq[Hint] = {
    val found = Try(execution.analyzed).map(_.collect { case node => hints(execution.sparkSession, node) }.flatten)
    found.getOrElse(Nil).map(_.copy(watermark = watermark(execution)))
  }

  /** Rows up to this time came with earlier batches of the stream, but for late ones. Spark says 0 where it declares none. */
  private def watermark(execution: QueryExecution): Option[Long] = execution match {
    case batch: IncrementalExecution => Some(batch.offsetSeqMetadata.batchWatermarkMs).filter(_ > 0)
    case _ => None
  }

  def hints(session: SparkSession, node: LogicalPlan): Seq[Hint] = node match {
    case waiting: WaitingWrite => hints(session, waiting.write)
    case waiting: WaitingCommand => hints(session, waiting.command)
    case insert: InsertIntoHadoopFsRelationCommand =>
      val complete = insert.staticPartitions.size == insert.partitionColumns.size && insert.staticPartitions.nonEmpty
      Seq(Hint(
        table = insert.catalogTable.map(table => name(table.identifier)),
        path = Some(insert.outputPath.toString).filter(_ => insert.catalogTable.isEmpty),
        partitions = if (complete) Seq(named(insert.staticPartitions)) else Nil,
        command = if (insert.mode == org.apache.spark.sql.SaveMode.Overwrite) "INSERT OVERWRITE" else "INSERT INTO",
        kind = CommandKind.Insert))
    case insert: InsertIntoHiveTable =>
      val static = insert.partition.collect { case (column, Some(value)) => column -> value }
      val complete = static.size == insert.partition.size && static.nonEmpty
      Seq(Hint(
        table = Some(name(insert.table.identifier)), partitions = if (complete) Seq(named(static)) else Nil,
        command = if (insert.overwrite) "INSERT OVERWRITE" else "INSERT INTO", kind = CommandKind.Insert))
    case batch: WriteToMicroBatchDataSourceV1 if batch.sink.isInstanceOf[FileStreamSink] =>
      Seq(Hint(
        table = batch.catalogTable.map(table => name(table.identifier)),
        path = batch.writeOptions.get("path").filter(_ => batch.catalogTable.isEmpty),
        command = "a batch of a stream", kind = CommandKind.Stream))
    case create: CreateDataSourceTableAsSelectCommand => Seq(table(create.table.identifier, "CREATE TABLE AS SELECT", CommandKind.Create))
    case create: CreateHiveTableAsSelectCommand => Seq(table(create.tableDesc.identifier, "CREATE TABLE AS SELECT", CommandKind.Create))
    case insert: InsertIntoDataSourceDirCommand => directory(insert.storage)
    case insert: InsertIntoHiveDirCommand => directory(insert.storage)
    case truncate: TruncateTableCommand => Seq(table(truncate.tableName, "TRUNCATE TABLE", CommandKind.Truncate, truncate.partitionSpec.toSeq))
    case add: AlterTableAddPartitionCommand =>
      Seq(table(add.tableName, "ADD PARTITION", CommandKind.Alter, add.partitionSpecsAndLocs.map(_._1)))
    case drop: AlterTableDropPartitionCommand => Seq(table(drop.tableName, "DROP PARTITION", CommandKind.Alter, drop.specs))
    case rename: AlterTableRenamePartitionCommand =>
      Seq(table(rename.tableName, "RENAME PARTITION", CommandKind.Alter, Seq(rename.oldPartition, rename.newPartition)))
    case move: AlterTableSetLocationCommand => Seq(table(move.tableName, "SET LOCATION", CommandKind.Alter, move.partitionSpec.toSeq))
    case repair: RepairTableCommand => Seq(table(repair.tableName, "REPAIR TABLE", CommandKind.Alter))
    case load: LoadDataCommand => Seq(table(load.table, "LOAD DATA", CommandKind.Load, load.partition.toSeq))
    case view: CreateViewCommand => Seq(table(view.name, "CREATE VIEW", CommandKind.Create))
    case view: AlterViewAsCommand => Seq(table(view.name, "ALTER VIEW", CommandKind.Alter))
    case other => Commands.changes(session, other).map { each =>
      Hint(each.target.table, each.target.path, renamed = each.renamed, command = each.words, kind = each.kind)
    }
  }

  private def table(
      identifier: TableIdentifier, command: String, kind: CommandKind, partitions: Seq[Map[String, String]] = Nil) =
    Hint(table = Some(name(identifier)), partitions = partitions.map(named), command = command, kind = kind)

  /** Spark says `null` for the null partition. */
  private def named(spec: Map[String, String]): Map[String, Option[String]] =
    SortedMap.from(spec.map { case (column, value) => column -> Option(value) })

  private def directory(storage: CatalogStorageFormat): Seq[Hint] =
    storage.locationUri.toSeq.map(uri =>
      Hint(path = Some(new Path(uri).toString), command = "INSERT OVERWRITE DIRECTORY", kind = CommandKind.Insert))

  private def name(identifier: TableIdentifier): String = Names.key(identifier)
}
