package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.headwater.Access

/**
 * Lets a query read a materialized view of Iceberg as it is published now.
 *
 * Iceberg's catalogs keep a table that a session has read for half a minute, with the snapshot of that moment. Another
 * session publishes the view, so a `SELECT` after `REFRESH MATERIALIZED VIEWS` would show old rows.
 */
case class PublishedSnapshot(session: SparkSession) extends Rule[LogicalPlan] {
  import PublishedSnapshot._

  /** A refresh renews its sources itself. */
  override def apply(plan: LogicalPlan): LogicalPlan = if (Internal.is(session)) plan else Access.rewrite(plan) {
    case relation: DataSourceV2Relation if isView(relation) =>
      val read = relation.catalog.get.name +: relation.identifier.get.namespace :+ relation.identifier.get.name
      val now = LakeTables.load(session, Names.table(Names.key(read.toSeq))).fold(relation)(published(relation, _))
      now.setTagValue(Fresh, ())
      now
  }

  private def isView(relation: DataSourceV2Relation): Boolean =
    relation.getTagValue(Fresh).isEmpty && relation.catalog.nonEmpty && relation.identifier.nonEmpty &&
      LakeRelations.isIceberg(relation.table) && relation.table.properties.containsKey(Views.Marker) &&
      LakeRelations.aspect(relation).isEmpty

  private def published(relation: DataSourceV2Relation, table: Table): DataSourceV2Relation = {
    val fresh = DataSourceV2Relation.create(table, relation.catalog, relation.identifier, relation.options)
    val alike = fresh.output.map(a => (a.name, a.dataType)) == relation.output.map(a => (a.name, a.dataType))
    if (alike) relation.copy(table = table) else fresh
  }
}

private object PublishedSnapshot {
  private val Fresh = TreeNodeTag[Unit]("headwater.fresh")
}
