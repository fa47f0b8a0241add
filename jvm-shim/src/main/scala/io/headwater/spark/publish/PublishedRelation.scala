package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogUtils, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{DataSource, FileIndex, HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.apache.spark.sql.internal.SQLConf

/**
 * Points the relation of a materialized view of files at what is published now.
 *
 * Every session caches the relation of a table it has read, with the location of that moment; a
 * publication moves the location, which only the catalog knows. Partitioned views list their
 * partitions from the catalog at each use and need this only when their columns changed. A view that gets another
 * format between two steps of a query's analysis is read with its old rows, which stay for a while.
 */
case class PublishedRelation(session: SparkSession) extends Rule[LogicalPlan] {

  /** A refresh reads nothing that its session has cached (`Tables.renew`), so that there is nothing to ask for. */
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (session.sparkContext.getLocalProperty(Overlay.Property) != null) plan else pointed(plan)

  private def pointed(plan: LogicalPlan): LogicalPlan = Access.rewrite(plan) {
    case relation @ LogicalRelation(files: HadoopFsRelation, _, Some(cached), false, _)
        if Views.is(cached) && FileFormats.isListing(files.location) =>
      val lists = listsDirectories(cached, files)
      Tables.metadata(session, cached.identifier).filterNot(now => same(cached, now) && !lists || LakeTables.of(now).nonEmpty)
        .fold[LogicalPlan](relation) { published =>
          Access.classic(session).sessionState.catalog.refreshTable(cached.identifier)
          if (lists) requirePartitions(published)
          PublishedRelation.of(session, published, relation.output)
        }
    case relation: HiveTableRelation if isLate(relation.tableMeta) =>
      val name = Names.table(Names.key(relation.tableMeta.identifier))
      LakeTables.load(session, name).filter(LakeRelations.format(_).nonEmpty).fold[LogicalPlan](relation)(table =>
        DataSourceV2Relation.create(table, Some(LakeTables.catalog(session, name)), Some(name.within)))
  }

  /** Iceberg's catalog asks for a table of its own first, and then for another. A view may change its format in between. */
  private def isLate(entry: CatalogTable): Boolean = !Internal.is(session) &&
    Views.are(entry.properties) && LakeTables.of(entry).exists(_.own_catalogs) && LakeTables.mixes(session)

  /** Whether Spark found the files of a partitioned view by its directory, which is empty, and not by its partitions. */
  private def listsDirectories(view: CatalogTable, files: HadoopFsRelation): Boolean =
    view.partitionColumnNames.nonEmpty && files.location.getClass == classOf[InMemoryFileIndex]

  private def requirePartitions(view: CatalogTable): Unit = {
    val setting = SQLConf.HIVE_MANAGE_FILESOURCE_PARTITIONS
    if (!Access.classic(session).sessionState.conf.getConf(setting)) throw new HeadwaterException(
      s"this session cannot read ${Names.key(view.identifier)}: the catalog says where its partitions are, and " +
        s"${setting.key} is false; set it to true")
  }

  private def same(cached: CatalogTable, published: CatalogTable): Boolean =
    cached.storage.locationUri == published.storage.locationUri &&
      cached.provider == published.provider &&
      cached.schema == published.schema &&
      cached.partitionColumnNames == published.partitionColumnNames
}

private[spark] object PublishedRelation {

  /** The relation of a table that reads other files than are listed for it now. */
  def over(session: SparkSession, table: CatalogTable)(files: FileIndex => FileIndex): LogicalPlan =
    of(session, table, Nil) match {
      case whole @ LogicalRelation(found: HadoopFsRelation, _, _, _, _) =>
        // What is known of the table says nothing of how large this is.
        whole.copy(
          relation = found.copy(location = files(found.location))(found.sparkSession), catalogTable = Some(table.copy(stats = None)))
      case other => throw new HeadwaterException(s"${table.identifier} is not read from its files: ${other.nodeName}")
    }

  /** The relation of a table of files, with the columns of the one that it stands for, if these are alike. */
  def of(session: SparkSession, published: CatalogTable, output: Seq[AttributeReference]): LogicalPlan = {
    val source = DataSource(
      Access.classic(session),
      className = published.provider.get,
      userSpecifiedSchema = Some(published.schema),
      partitionColumns = published.partitionColumnNames,
      options = published.storage.properties ++ published.storage.locationUri.map(uri => "path" -> CatalogUtils.URIToString(uri)),
      catalogTable = Some(published))
    val fresh = LogicalRelation(source.resolveRelation(checkFilesExist = false), published)
    val alike = fresh.output.map(a => (a.name, a.dataType)) == output.map(a => (a.name, a.dataType))
    if (alike) fresh.copy(output = output) else fresh
  }
}
