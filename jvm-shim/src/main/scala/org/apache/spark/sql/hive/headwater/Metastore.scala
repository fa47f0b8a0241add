package org.apache.spark.sql.hive.headwater

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogUtils, ExternalCatalog, ExternalCatalogWithListener}
import org.apache.spark.sql.hive.HiveExternalCatalog
import org.apache.spark.sql.hive.HiveExternalCatalog.{
  DATASOURCE_PROVIDER, STATISTICS_NUM_ROWS, STATISTICS_PREFIX, STATISTICS_TOTAL_SIZE}

/** Changes of Hive's metastore for which Spark's catalog needs several calls. */
object Metastore {

  /**
   * Gives a table that is there a place, properties and statistics in one change, so that no reader plans with the statistics
   * of files that are not there any more. Listeners of the catalog are not told.
   * @param moved as Spark's catalog has it, with what is new
   * @return whether this catalog is Hive's, and the table was changed
   */
  def move(catalog: ExternalCatalog, moved: CatalogTable): Boolean = plain(catalog) match {
    case hive: HiveExternalCatalog if hive.getClass == classOf[HiveExternalCatalog] =>
      val kept = hive.client.getTable(moved.database, moved.identifier.table)
      val isOfSpark = kept.properties.contains(DATASOURCE_PROVIDER)
      val path = moved.storage.locationUri.filter(_ => isOfSpark).map("path" -> CatalogUtils.URIToString(_))
      hive.client.alterTable(kept.copy(
        storage = kept.storage.copy(
          locationUri = moved.storage.locationUri,
          properties = kept.storage.properties.filterNot(isOfSpark && _._1.equalsIgnoreCase("path")) ++ path),
        properties = kept.properties.filterNot(_._1.startsWith(STATISTICS_PREFIX)) ++ moved.properties ++ statistics(moved)))
      true
    case _ => false
  }

  private def plain(catalog: ExternalCatalog): ExternalCatalog = catalog match {
    case listened: ExternalCatalogWithListener => listened.unwrapped
    case other => other
  }

  private def statistics(table: CatalogTable): Map[String, String] = table.stats.toSeq.flatMap { known =>
    (STATISTICS_TOTAL_SIZE -> known.sizeInBytes.toString) +: known.rowCount.map(STATISTICS_NUM_ROWS -> _.toString).toSeq
  }.toMap
}
