package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogUtils}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.headwater.Access

/**
 * Points the relation of a materialized view of files at what is published now.
 *
 * Every session caches the relation of a table it has read, with the location of that moment; a
 * publication moves the location, which only the catalog knows. Partitioned views list their
 * partitions from the catalog at each use and need this only when their columns changed.
 */
case class PublishedRelation(session: SparkSession) extends Rule[LogicalPlan] {

  /** A refresh reads nothing that its session has cached (`Tables.renew`), so that there is nothing to ask for. */
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (session.sparkContext.getLocalProperty(Overlay.Property) != null) plan else pointed(plan)

  private def pointed(plan: LogicalPlan): LogicalPlan = Access.rewrite(plan) {
    case relation @ LogicalRelation(files: HadoopFsRelation, _, Some(cached), false, _)
        if Views.is(cached) && FileFormats.isListing(files.location) =>
      Tables.metadata(session, cached.identifier).filterNot(same(cached, _)).fold[LogicalPlan](relation) { published =>
        Access.classic(session).sessionState.catalog.refreshTable(cached.identifier)
        replaced(relation, published)
      }
  }

  private def same(cached: CatalogTable, published: CatalogTable): Boolean =
    cached.storage.locationUri == published.storage.locationUri &&
      cached.provider == published.provider &&
      cached.schema == published.schema &&
      cached.partitionColumnNames == published.partitionColumnNames

  private def replaced(relation: LogicalRelation, published: CatalogTable): LogicalPlan = {
    val source = DataSource(
      Access.classic(session),
      className = published.provider.get,
      userSpecifiedSchema = Some(published.schema),
      partitionColumns = published.partitionColumnNames,
      options = published.storage.properties ++ published.storage.locationUri.map(uri => "path" -> CatalogUtils.URIToString(uri)),
      catalogTable = Some(published))
    val fresh = LogicalRelation(source.resolveRelation(checkFilesExist = false), published)
    val alike = fresh.output.map(a => (a.name, a.dataType)) == relation.output.map(a => (a.name, a.dataType))
    if (alike) fresh.copy(output = relation.output) else fresh
  }
}
