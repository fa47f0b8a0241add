package io.headwater.spark

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, TableCatalog}
import org.apache.spark.sql.headwater.Access

/**
 * Lets a query read a materialized view of Iceberg as it is published now.
 *
 * Iceberg's catalogs keep a table that a session has read for half a minute, with the snapshot and the columns of that moment.
 * Another session publishes the view, so a `SELECT` after `REFRESH MATERIALIZED VIEWS` would show old rows. The catalog
 * forgets the table before names are resolved, since a query is resolved by the columns that the table has.
 */
case class PublishedSnapshot(session: SparkSession) extends Rule[LogicalPlan] {
  import PublishedSnapshot._

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case relation: UnresolvedRelation => renew(relation)
      case RelationTimeTravel(relation: UnresolvedRelation, _, _) => renew(relation)
      case _ =>
    }
    plan
  }

  private def renew(relation: UnresolvedRelation): Unit =
    if (relation.getTagValue(Fresh).isEmpty) {
      relation.setTagValue(Fresh, ())
      forget(relation.multipartIdentifier, isOld)
    }

  /** Lets a catalog that keeps tables load one anew, if it may be old. */
  private[spark] def forget(name: Seq[String], isOld: (TableCatalog, Identifier) => Boolean = (_, _) => true): Unit =
    for {
      (catalog, identifier) <- PinnedSnapshots.identified(session, name)
      found <- Try(Access.classic(session).sessionState.catalogManager.catalog(catalog)).toOption
    } found match {
      case tables: TableCatalog if isKeeping(tables) && isOld(tables, identifier) => tables.invalidateTable(identifier)
      case _ =>
    }

  /**
   * Whether the catalog may keep an old table. A refresh renews its sources itself, but by the names of their keys: the
   * catalog keeps a table apart under each spelling of its name.
   */
  private def isOld(tables: TableCatalog, identifier: Identifier): Boolean =
    if (Internal.is(session)) Names.key(tables.name, identifier) != TableName(tables.name, identifier.namespace.toSeq, identifier.name).key
    else isView(tables, identifier)

  private def isKeeping(catalog: CatalogPlugin): Boolean =
    Format.ofClass(catalog.getClass.getName).exists(_.kept_by_sessions)

  /** The catalog keeps what is loaded here for the query, so that it is loaded once. */
  private def isView(tables: TableCatalog, identifier: Identifier): Boolean =
    Try(tables.loadTable(identifier)).toOption.exists { table =>
      LakeRelations.format(table).nonEmpty && table.properties.containsKey(Views.Marker)
    }
}

private object PublishedSnapshot {
  private val Fresh = TreeNodeTag[Unit]("headwater.fresh")
}
