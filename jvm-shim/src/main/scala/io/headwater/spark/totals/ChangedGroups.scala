package io.headwater.spark

import scala.collection.mutable

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.headwater.Access

/**
 * The totals of changed rows, in the driver: they are read once, and no job reads them again.
 *
 * @param output the columns: first the `keys` of the groups, last the weight
 * @param bucketKeys how many of the first columns tell the bucket
 * @param extremes the columns with least or greatest values
 * @param rows the totals of each group and weight; several sources may have changed one group
 */
final class ChangedGroups private[spark] (
    session: SparkSession, output: Seq[Attribute], keys: Int, bucketKeys: Int, extremes: Set[String], rows: Array[InternalRow]) {

  /** The totals. */
  def totals: DataFrame = Access.frame(session)(LocalRelation(output, rows.toSeq))

  /** The keys of the groups, each group once. */
  lazy val groups: DataFrame = Access.frame(session)(LocalRelation(output.take(keys), distinct))

  /** How many groups there are. */
  def count: Int = distinct.size

  /** Whether a row with a value went, which may have been the least or greatest one of a group. A lone group tells no key. */
  def mayLose: Boolean = {
    val values = output.indices.filter(n => extremes(output(n).name))
    keys > 0 && rows.exists(row => row.getInt(output.size - 1) == StandIns.Went && values.exists(!row.isNullAt(_)))
  }

  /** The buckets that have them, of so many. */
  def buckets(count: Int): Array[Int] = {
    val bucket = BindReferences.bindReference(Totals.bucket(output.take(bucketKeys), count), output)
    rows.map(bucket.eval(_).asInstanceOf[Int]).distinct.sorted
  }

  /** Equal keys have equal bytes: floating point and collated text group no totals (`derive/totals.py`). */
  private lazy val distinct: Seq[UnsafeRow] = {
    val own = UnsafeProjection.create(output.take(keys), output)
    val found = mutable.LinkedHashSet.empty[UnsafeRow]
    rows.foreach { row =>
      val key = own(row)
      if (!found.contains(key)) found += key.copy()
    }
    found.toSeq
  }
}
