package io.headwater.spark

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedTable}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, Table}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.headwater.Access

/**
 * A table that a command names, as far as the command says.
 *
 * @param table its key
 * @param path where it lies
 * @param properties those that the command's own plan has; none if it has not looked at the table
 */
private[spark] final case class Target(
    table: Option[String] = None, path: Option[String] = None, properties: Map[String, String] = Map.empty)

/** Finds the tables in the parts of a command, whatever format they have. The shim is compiled against no format. */
private[spark] object Targets {

  /** The table that a part of a command stands for. A relation in it may be read only, so it counts where it is known not to be. */
  def of(part: Any): Option[Target] = part match {
    case Some(inner) => of(inner)
    case ResolvedTable(catalog, identifier, table, _) => Some(named(Some(catalog), Some(identifier), table))
    case ResolvedIdentifier(_, identifier) if isPath(identifier) => Some(Target(path = Some(identifier.name)))
    case ResolvedIdentifier(catalog, identifier) => Some(Target(Some(Names.key(catalog.name, identifier))))
    case entry: CatalogTable => Some(cataloged(entry))
    case identifier: TableIdentifier => Some(identified(identifier))
    case table: Table => Some(named(None, None, table))
    case path: Path => Some(Target(path = Some(path.toString)))
    case index: FileIndex => index.rootPaths.headOption.flatMap(of)
    case log: AnyRef if FileFormats.simple(log) == "DeltaLog" => Reflected(log, "dataPath").flatMap(of)
    case _ => None
  }

  /** The table that a relation reads, which a command writes. */
  def written(relation: Any): Option[Target] = relation match {
    case SubqueryAlias(_, child) => written(child)
    case found: DataSourceV2Relation => Some(named(found.catalog, found.identifier, Access.plain(found.table)))
    case LogicalRelation(files: HadoopFsRelation, _, entry, _, _) =>
      Some(merged(entry.map(cataloged).toSeq ++ of(files.location)))
    case other => of(other)
  }

  /** One table that several parts of a command name. */
  def merged(targets: Seq[Target]): Target = Target(
    targets.flatMap(_.table).headOption, targets.flatMap(_.path).headOption, targets.flatMap(_.properties).toMap)

  private def named(catalog: Option[CatalogPlugin], identifier: Option[Identifier], table: Table): Target = {
    val properties = table.properties.asScala.toMap
    val known = Access.entry(table).orElse(Reflected(table, "catalogTable").collect { case Some(entry: CatalogTable) => entry })
    val key = for (each <- catalog; id <- identifier if !isPath(id)) yield Names.key(each.name, id)
    val path = properties.get("location").orElse(Reflected(table, "path").filter(_ != null).map(_.toString))
    Target(key.orElse(known.map(entry => Names.key(entry.identifier))), path, properties)
  }

  /** ``delta.`/path` `` is an identifier, too. */
  private def isPath(identifier: Identifier): Boolean = identifier.name.contains("/")

  private def cataloged(entry: CatalogTable): Target =
    Target(identified(entry.identifier).table, entry.storage.locationUri.map(uri => new Path(uri).toString), entry.properties)

  private def identified(identifier: TableIdentifier): Target =
    if (identifier.table.contains("/")) Target(path = Some(identifier.table)) else Target(Some(Names.key(identifier)))
}
