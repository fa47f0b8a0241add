package org.apache.spark.sql.hive.headwater

import java.net.URI

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogUtils, ExternalCatalog}
import org.apache.spark.sql.hive.HiveExternalCatalog
import org.apache.spark.sql.hive.HiveExternalCatalog.{
  DATASOURCE_PROVIDER, STATISTICS_NUM_ROWS, STATISTICS_PREFIX, STATISTICS_TOTAL_SIZE}

/** Changes of Hive's metastore for which Spark's catalog needs several calls. */
object Metastore {

  /**
   * Gives a table that is there a place, a property and statistics in one change, so that no reader plans with the statistics
   * of files that are not there any more. All else stays as it is then. Listeners of the catalog are not told.
   * @return whether this catalog is Hive's, and the table was changed
   */
  def move(
      catalog: ExternalCatalog, table: TableIdentifier, place: URI, property: (String, String),
      stats: CatalogStatistics): Boolean = Entries.plain(catalog) match {
    case hive: HiveExternalCatalog if hive.getClass == classOf[HiveExternalCatalog] =>
      val kept = hive.client.getTable(table.database.get, table.table)
      val isOfSpark = kept.properties.contains(DATASOURCE_PROVIDER)
      val path = Option.when(isOfSpark)("path" -> CatalogUtils.URIToString(place))
      hive.client.alterTable(kept.copy(
        storage = kept.storage.copy(
          locationUri = Some(place),
          properties = kept.storage.properties.filterNot(isOfSpark && _._1.equalsIgnoreCase("path")) ++ path),
        properties = kept.properties.filterNot(_._1.startsWith(STATISTICS_PREFIX)) + property ++ statistics(stats)))
      true
    case _ => false
  }

  private def statistics(known: CatalogStatistics): Map[String, String] =
    Map(STATISTICS_TOTAL_SIZE -> known.sizeInBytes.toString) ++ known.rowCount.map(STATISTICS_NUM_ROWS -> _.toString)
}
