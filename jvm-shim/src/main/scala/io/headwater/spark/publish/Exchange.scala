package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType, ExternalCatalog}
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.headwater.Entries

/**
 * Lets a view's table and the one that is filled to replace it change their places in the session catalog.
 *
 * A catalog changes one entry at a time. So the view's name gets the entry of the filled table, in one change: every reader
 * finds the one or the other. Partitions of files are entries of their own. They can be there before the change if the table
 * before is none of files, which has no use for them. So those of a table that was one of files stay, for queries that began.
 * Two tables of files are not exchanged: Hive's own readers need the columns in the metastore, which would stay as they are.
 */
object Exchange {

  /**
   * @return where the view's table lay, if its catalog owns those files, or else an empty string; the other name has that
   *         table now. `null` if the catalog cannot do this: then nothing has changed.
   */
  def exchange(session: SparkSession, view: String, filled: String): String = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    val (shown, other) = (Names.identifier(view), Names.identifier(filled))
    val there = Seq(shown, other).forall(each => catalog.tableExists(each.database.get, each.table))
    val exchanged = if (there) exchanged0(catalog, shown, other) else None
    exchanged.foreach(_ => Seq(shown, other).foreach(Access.classic(session).sessionState.catalog.refreshTable))
    exchanged.orNull
  }

  private def exchanged0(catalog: ExternalCatalog, shown: TableIdentifier, other: TableIdentifier): Option[String] = {
    val entries = Entries.of(catalog)
    val (before, after) = (catalog.getTable(shown.database.get, shown.table), catalog.getTable(other.database.get, other.table))
    val (old, made) = (entries.table(shown), entries.table(other))
    Option.when(Seq(before, after).exists(LakeTables.of(_).nonEmpty))(entries.placed(made, old, LakeTables.of(after).nonEmpty)).flatten.map { placed =>
      val are = if (LakeTables.of(after).nonEmpty || after.partitionColumnNames.isEmpty) Nil else entries.partitions(other)
      if (are.nonEmpty) {
        entries.drop(shown, entries.partitions(shown)) // of an exchange before, or of one that was cut off
        entries.create(old, are)
      }
      Own.expect(shown.database.get, shown.table)
      entries.alter(placed)
      if (are.nonEmpty) entries.drop(other, are)
      entries.placed(old, made, LakeTables.of(before).nonEmpty).foreach(each => entries.alter(unmarked(each)))
      if (before.tableType == CatalogTableType.MANAGED) before.storage.locationUri.fold("")(new Path(_).toString) else ""
    }
  }

  /** The table that was replaced is no view. */
  private def unmarked(table: CatalogTable): CatalogTable =
    table.copy(properties = table.properties - Views.Marker - Publication.Owner)
}
