package org.apache.spark.sql.hive.headwater

import java.io.IOException
import java.net.URI

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{
  CatalogTable, CatalogTablePartition, ExternalCatalog, ExternalCatalogWithListener, CatalogStatistics, CatalogUtils}
import org.apache.spark.sql.hive.HiveExternalCatalog
import org.apache.spark.sql.hive.HiveExternalCatalog.{
  DATASOURCE_PROVIDER, DATASOURCE_SCHEMA, STATISTICS_NUM_ROWS, STATISTICS_PREFIX, STATISTICS_TOTAL_SIZE}
import org.apache.spark.sql.hive.client.HiveClient
import org.apache.spark.sql.types.StructType

/** The entries of a catalog as it keeps them. Spark's own interface lets a table have no other format than before. */
trait Entries {
  def table(name: TableIdentifier): CatalogTable

  def alter(table: CatalogTable): Unit

  /**
   * An entry in the place of another one; none if the catalog refuses it there. A table of a lake format keeps the partition
   * columns of the other, and its columns with them: queries that began before still ask for the partitions.
   */
  def placed(entry: CatalogTable, at: CatalogTable, isLake: Boolean): Option[CatalogTable]

  def partitions(table: TableIdentifier): Seq[CatalogTablePartition]

  def create(table: CatalogTable, partitions: Seq[CatalogTablePartition]): Unit

  /** Forgets partitions; their files stay. */
  def drop(table: TableIdentifier, partitions: Seq[CatalogTablePartition]): Unit
}

object Entries {
  def of(catalog: ExternalCatalog): Entries = plain(catalog) match {
    case hive: HiveExternalCatalog if hive.getClass == classOf[HiveExternalCatalog] => new OfHive(hive.client)
    case other => new OfSpark(other)
  }

  private[headwater] def plain(catalog: ExternalCatalog): ExternalCatalog = catalog match {
    case listened: ExternalCatalogWithListener => listened.unwrapped
    case other => other
  }
}

/** A catalog that keeps what it is given. */
private final class OfSpark(catalog: ExternalCatalog) extends Entries {
  override def table(name: TableIdentifier): CatalogTable = catalog.getTable(name.database.get, name.table)

  override def alter(table: CatalogTable): Unit = catalog.alterTable(table)

  override def placed(entry: CatalogTable, at: CatalogTable, isLake: Boolean): Option[CatalogTable] = {
    val named = entry.copy(identifier = at.identifier)
    Some(if (isLake) named.copy(schema = at.schema, partitionColumnNames = at.partitionColumnNames) else named)
  }

  override def partitions(table: TableIdentifier): Seq[CatalogTablePartition] =
    catalog.listPartitions(table.database.get, table.table)

  override def create(table: CatalogTable, partitions: Seq[CatalogTablePartition]): Unit =
    catalog.createPartitions(table.database, table.identifier.table, partitions, ignoreIfExists = true)

  override def drop(table: TableIdentifier, partitions: Seq[CatalogTablePartition]): Unit =
    catalog.dropPartitions(
      table.database.get, table.table, partitions.map(_.spec), ignoreIfNotExists = true, purge = false, retainData = true)
}

/**
 * Hive's metastore. It changes no partition columns of a table, and few types of columns. Spark keeps both in properties, and
 * a lake format elsewhere, so that the metastore's own columns can stay as they are.
 */
private final class OfHive(client: HiveClient) extends Entries {
  /** Iceberg writes all its columns into an entry, those too that are partition columns there. */
  override def table(name: TableIdentifier): CatalogTable = {
    val found = client.getTable(name.database.get, name.table)
    val partitions = found.partitionColumnNames.toSet
    found.copy(schema = StructType(found.schema.filterNot(each => partitions(each.name)) ++ found.partitionSchema))
  }

  override def alter(table: CatalogTable): Unit = client.alterTable(table)

  override def placed(entry: CatalogTable, at: CatalogTable, isLake: Boolean): Option[CatalogTable] = {
    val named = entry.copy(identifier = at.identifier, schema = at.schema, partitionColumnNames = at.partitionColumnNames)
    if (!entry.properties.contains(DATASOURCE_PROVIDER)) {
      val (partitions, names) = (at.partitionSchema, at.partitionColumnNames.toSet)
      Some(named.copy(schema = StructType(entry.schema.filterNot(each => names(each.name)) ++ partitions)))
    } else if (isLake) {
      val schema = at.properties.filter(_._1.startsWith(DATASOURCE_SCHEMA))
      Some(named.copy(properties = entry.properties.filterNot(_._1.startsWith(DATASOURCE_SCHEMA)) ++ schema))
    } else Option.when(entry.partitionColumnNames.isEmpty || entry.partitionSchema == at.partitionSchema)(named)
  }

  override def partitions(table: TableIdentifier): Seq[CatalogTablePartition] =
    client.getPartitions(table.database.get, table.table, None)

  override def create(table: CatalogTable, partitions: Seq[CatalogTablePartition]): Unit =
    client.createPartitions(table, partitions, ignoreIfExists = true)

  override def drop(table: TableIdentifier, partitions: Seq[CatalogTablePartition]): Unit =
    client.dropPartitions(
      table.database.get, table.table, partitions.map(_.spec), ignoreIfNotExists = true, purge = false, retainData = true)
}

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

  /** Whether the metastore failed, and not Spark that does not know what an entry says. */
  def failed(error: Throwable): Boolean = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).exists { each =>
    each.isInstanceOf[IOException] ||
    // The client's classes may be of another class loader.
    Iterator.iterate[Class[_]](each.getClass)(_.getSuperclass).takeWhile(_ != null).exists(kind => OfClient(kind.getName))
  }

  private val OfClient = Set("org.apache.hadoop.hive.ql.metadata.HiveException", "org.apache.thrift.TException")

  private def statistics(known: CatalogStatistics): Map[String, String] =
    Map(STATISTICS_TOTAL_SIZE -> known.sizeInBytes.toString) ++ known.rowCount.map(STATISTICS_NUM_ROWS -> _.toString)
}
