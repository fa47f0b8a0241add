package io.headwater.spark

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.execution.{CreateHiveTableAsSelectCommand, InsertIntoHiveDirCommand, InsertIntoHiveTable}

/**
 * A directory that a statement writes, empties or moves away, or that it gives to a table or a database: what has a directory
 * may empty it later, as a `DROP` does.
 *
 * @param replaces whether nothing that lies in it stays
 * @param asFiles whether only files count there: a table of Delta may have several names
 */
private[spark] final case class Place(path: Path, replaces: Boolean = false, asFiles: Boolean = false)

private[spark] object Places {

  def of(node: LogicalPlan): Seq[Place] = node match {
    case insert: InsertIntoHadoopFsRelationCommand =>
      val whole = insert.staticPartitions.isEmpty && !Access.keepsPartitions(insert)
      written(insert.outputPath, insert.mode == SaveMode.Overwrite, whole, insert.catalogTable)
    case insert: InsertIntoHiveTable =>
      insert.table.storage.locationUri.toSeq.flatMap(each => written(new Path(each), insert.overwrite, insert.partition.isEmpty, Some(insert.table)))
    case insert: InsertIntoDataSourceDirCommand => insert.storage.locationUri.map(each => Place(new Path(each), insert.overwrite)).toSeq
    case insert: InsertIntoHiveDirCommand =>
      insert.storage.locationUri.map(new Path(_)).map(each => Place(if (insert.isLocal) local(each) else each, insert.overwrite)).toSeq
    case stream: WriteToStream => Seq(stream.sink).collect { case sink: FileStreamSink => sink }
      .flatMap(Reflected(_, "path")).flatMap(each => path(each.toString)).map(Place(_))
    case load: LoadDataCommand if !load.isLocal => given(Some(load.path)).map(_.copy(replaces = true)) // its files move away
    case load: LoadData if !load.isLocal => given(Some(load.path)).map(_.copy(replaces = true))
    case other => owned(other)
  }

  /** What a statement gives to a table or to a database. */
  private def owned(node: LogicalPlan): Seq[Place] = node match {
    case add: AlterTableAddPartitionCommand => add.partitionSpecsAndLocs.flatMap { case (_, location) => given(location) }
    case set: AlterTableSetLocationCommand => given(Some(set.location))
    case set: SetTableLocation => given(Some(set.location))
    case create: CreateDataSourceTableCommand => placed(create.table)
    case create: CreateDataSourceTableAsSelectCommand => placed(create.table)
    case create: CreateTableCommand => placed(create.table)
    case create: CreateHiveTableAsSelectCommand => placed(create.tableDesc)
    case create: CreateTableLikeCommand => create.fileFormat.locationUri.map(each => Place(new Path(each))).toSeq
    case create: V2CreateTablePlan => Reflected(create, "tableSpec").collect { case spec: TableSpec => spec.location }
      .toSeq.flatMap(given).map(_.copy(asFiles = create.isInstanceOf[CreateTable]))
    case create: CreateDatabaseCommand => given(create.path)
    case create: CreateNamespace => given(create.properties.get("location"))
    case set: AlterDatabaseSetLocationCommand => given(Some(set.location))
    case set: SetNamespaceLocation => given(Some(set.location))
    case other if FileFormats.simple(other) == "CreateDeltaTableCommand" => Reflected(other, "table")
      .collect { case table: CatalogTable => placed(table) }.toSeq.flatten.map(_.copy(asFiles = names(other)))
    case _ => Nil
  }

  /** Whether Delta's command gives a directory one more name, or does nothing, and leaves the log there as it is. */
  private def names(create: LogicalPlan): Boolean = {
    def none(part: String) = Reflected(create, part).contains(None)
    val creates = Reflected(create, "operation").collect { case each: AnyRef => FileFormats.simple(each) }.contains("Create")
    creates && (none("query") || Reflected(create, "mode").contains(SaveMode.Ignore) && !none("existingTableOpt"))
  }

  /** The path that a text means. An option of that name may be something else to its source, and then it is no directory. */
  def path(text: String): Option[Path] = Try(new Path(text)).toOption

  /**
   * Where a table or a path is written. What the catalog placed itself lies in no view; rows that come to files beside those
   * of a view's versions harm nothing, and such a write shall not wait for looks at directories.
   *
   * @param whole whether an overwriting write empties all of the directory, and not some partitions in it
   */
  private def written(path: Path, overwrites: Boolean, whole: Boolean, table: Option[CatalogTable]): Seq[Place] =
    Seq(Place(path, overwrites && whole)).filter(_ => table.forall(each =>
      each.tableType == CatalogTableType.EXTERNAL && !Views.is(each) && (overwrites || path.toString.contains("/."))))

  private def placed(table: CatalogTable): Seq[Place] = table.storage.locationUri.map(each => Place(new Path(each))).toSeq

  private def given(location: Option[String]): Seq[Place] = location.flatMap(path).map(Place(_)).toSeq

  private def local(path: Path): Path = new Path("file", null, path.toUri.getPath)
}
