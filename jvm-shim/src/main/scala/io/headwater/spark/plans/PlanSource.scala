package io.headwater.spark

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumnsUtils
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier}
import org.apache.spark.sql.connector.expressions.{Literal => Constant, NamedReference, Transform}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.json4s.JsonAST._

/** Which table or path a relation reads, of which kind and format it is, and how it is partitioned. */
private[spark] object PlanSource {

  def facts(plan: LogicalPlan): List[JField] = plan match {
    case relation: LogicalRelation if relation.isStreaming =>
      table(relation.catalogTable.map(_.identifier)) ++ kind("stream", "file", Nil)
    case LogicalRelation(files: HadoopFsRelation, _, catalogTable, _, _) =>
      val place = catalogTable.fold(paths(files))(each => table(Some(each.identifier)))
      place ++ LakeRelations.format(files).fold(listed(files, catalogTable))(logged(_, files))
    case relation: LogicalRelation =>
      table(relation.catalogTable.map(_.identifier)) ++ aspect(LakeRelations.aspect(relation.relation)) ++
        kind("other", relation.catalogTable.flatMap(_.provider).getOrElse(simple(relation.relation)), Nil)
    case relation: HiveTableRelation =>
      table(Some(relation.tableMeta.identifier)) ++ kind(
        if (FileFormats.isListed(relation.tableMeta)) "hive" else "other",
        relation.tableMeta.provider.getOrElse("hive"), relation.partitionCols.map(_.name)) ++
        moments(relation.tableMeta.partitionSchema)
    case relation: DataSourceV2Relation => named(relation)
    case relation: StreamingRelationV2 =>
      versioned(relation.catalog, relation.identifier, relation.sourceName) ++ kind("stream", relation.sourceName, Nil)
    case relation: StreamingRelation =>
      table(relation.dataSource.catalogTable.map(_.identifier)) ++ kind("stream", relation.sourceName, Nil)
    case other if other.isStreaming => kind("stream", simple(other), Nil)
    case other => kind("other", simple(other), Nil)
  }

  /**
   * What tells a column of a table from another one of its name, by name: what the log of a lake table calls it, or what rows
   * have of it whose file lacks it.
   */
  def identities(plan: LogicalPlan): Map[String, String] = plan match {
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) if LakeRelations.format(files).nonEmpty =>
      LakeRelations.identities(files)
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
      files.schema.filter(_.metadata.contains(Default)).map(each => each.name -> each.metadata.getString(Default)).toMap
    case _ => Map.empty
  }

  private val Default = ResolveDefaultColumnsUtils.EXISTS_DEFAULT_COLUMN_METADATA_KEY

  private def logged(format: Format, files: HadoopFsRelation): List[JField] =
    aspect(LakeRelations.aspect(files)) ++ kind(format.name, format.name, files.partitionSchema.map(_.name)) ++ zone(format)

  private def listed(files: HadoopFsRelation, table: Option[CatalogTable]): List[JField] =
    if (files.location.isInstanceOf[VersionFiles])
      aspect(Some("snapshot")) ++ kind("file", table.flatMap(_.provider).getOrElse(""), files.partitionSchema.map(_.name))
    else FileFormats.listed(files, table).fold(
      other => kind("other", other, Nil), format => kind("file", format, partitioning(files, table)) ++ moments(files.partitionSchema))

  /** A table of another catalog. Its partition columns are those that have partitions of their own values. */
  private def named(relation: DataSourceV2Relation): List[JField] = {
    val transforms = Try(relation.table.partitioning.toList).getOrElse(Nil)
    val identity = transforms.filter(_.name == "identity").flatMap(columns)
    val format = LakeRelations.format(relation.table)
    val provider = Option(relation.table.properties.get("provider")).getOrElse(simple(relation.table))
    versioned(relation.catalog, relation.identifier, relation.table.name) ++
      aspect(LakeRelations.aspect(relation)) ++
      kind(format.fold("v2")(_.name), format.fold(provider)(_.name), identity) ++
      Option.when(transforms.size > identity.size)("transforms" -> JArray(transforms.map(transform))) ++
      format.toList.flatMap(zone)
  }

  /** Where timestamps of a log become text, or periods become timestamps, this says which. */
  private def zone(format: Format): List[JField] = if (format.zoned) zone else Nil

  /** It says, too, which moments the texts of directories are. */
  private def moments(partitions: StructType): List[JField] = if (partitions.exists(_.dataType == TimestampType)) zone else Nil

  private def zone: List[JField] = List("zone" -> JString(SQLConf.get.sessionLocalTimeZone))

  private def transform(each: Transform): JValue = JObject(
    "name" -> JString(each.name),
    "over" -> JArray(columns(each).map(JString(_)).toList),
    "arguments" -> JArray(each.arguments.collect { case value: Constant[_] => JString(value.value.toString) }.toList))

  private def columns(transform: Transform): Seq[String] =
    transform.references.toSeq.map { case column: NamedReference => column.fieldNames.mkString(".") }

  private def kind(kind: String, format: String, partitionColumns: Seq[String]): List[JField] = List(
    "kind" -> JString(kind),
    "format" -> JString(format.toLowerCase(Locale.ROOT)),
    "partition_columns" -> JArray(partitionColumns.map(JString(_)).toList))

  private def aspect(found: Option[String]): List[JField] = found.map(each => "aspect" -> JString(each)).toList

  private def paths(files: HadoopFsRelation): List[JField] = List(
    "path" -> JString(files.location.rootPaths.mkString(", ")), "paths" -> JInt(files.location.rootPaths.size))

  /** The table's own: a stream that wrote nothing yet has no directories that would tell. */
  private def partitioning(files: HadoopFsRelation, table: Option[CatalogTable]): Seq[String] =
    table.fold(files.partitionSchema.map(_.name))(_.partitionColumnNames)

  private def table(identifier: Option[TableIdentifier]): List[JField] =
    identifier.map(each => "table" -> JString(Names.key(each))).toList

  private def versioned(catalog: Option[CatalogPlugin], identifier: Option[Identifier], name: String): List[JField] = {
    val key = for (each <- catalog; id <- identifier) yield Names.key(each.name, id)
    List("table" -> JString(key.getOrElse(Names.spelled(Seq(name)))))
  }

  private def simple(value: AnyRef): String = FileFormats.simple(value)
}
