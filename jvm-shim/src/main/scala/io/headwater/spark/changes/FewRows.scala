package io.headwater.spark

import java.util.{HashMap => JHashMap, List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.headwater.{Access, Few, Gathered}

/**
 * Rows of tables that changed, in the memory of the driver if they are few.
 *
 * Example: one row of `sales` changed, and its file was written anew. A job reads the old and the new file, 200 rows. All
 * but two are in both and cancel out. Whatever reads the changed rows from now on starts no job for them.
 */
object FewRows {
  private[spark] val Most = 10000
  private[spark] val Bytes = 2L << 20

  /** Files of these bytes are read twice if they hold more rows; so more bytes are not tried. */
  private val Read = 64L << 20
  private val Tasks = 32

  /**
   * @param changed for each table the rows that came and those that went, or null
   * @return the same, as rows in memory without those that are in both: null instead of rows that went if none are left, and
   *   for each table of which they are not few
   */
  def of(changed: JList[DataFrame]): JList[DataFrame] = {
    val frames = changed.asScala.toSeq
    val found = Gathered.of(frames.filter(_ != null), Few(Most, Bytes, Read, Tasks)).iterator
    val known = frames.map(frame => Option(frame).map(_ -> found.next()))
    known.grouped(2).flatMap {
      case sides @ Seq(came, went) if sides.flatten.forall(_._2.nonEmpty) && areAlike(sides.flatten.map(_._1)) =>
        val Seq(added, removed) = netted(came.map(rows), went.map(rows))
        Seq(
          came.map(each => frame(each._1, added)).orNull,
          went.filter(_ => removed.nonEmpty || came.isEmpty).map(each => frame(each._1, removed)).orNull)
      case _ => Seq(null, null)
    }.toSeq.asJava
  }

  /** Whether equal bytes of some rows are equal values: they have the same types. */
  private def areAlike(frames: Seq[DataFrame]): Boolean = {
    val types = frames.map(_.queryExecution.analyzed.output.map(_.dataType))
    types.forall(each => each.size == types.head.size && each.zip(types.head).forall((DataTypeUtils.sameType _).tupled))
  }

  /** Rows in memory that another session read, in a session. */
  def in(session: SparkSession, rows: DataFrame): DataFrame = Access.frame(session)(rows.queryExecution.analyzed)

  private def rows(found: (DataFrame, Option[Seq[UnsafeRow]])): Seq[UnsafeRow] = found._2.get

  private def frame(of: DataFrame, rows: Seq[InternalRow]): DataFrame = Access.frame(of.sparkSession) {
    LocalRelation(of.queryExecution.analyzed.output.map(_.newInstance()), rows)
  }

  /** Both sides without the rows that are in both, each as often as it is. Equal bytes are equal values of all types. */
  private def netted(came: Option[Seq[UnsafeRow]], went: Option[Seq[UnsafeRow]]): Seq[Seq[UnsafeRow]] = {
    val both = new JHashMap[UnsafeRow, Int]
    went.toSeq.flatten.foreach(row => both.put(row, both.getOrDefault(row, 0) + 1))
    val added = came.toSeq.flatten.filterNot(taken(both, _))
    Seq(added, went.toSeq.flatten.filter(taken(both, _)))
  }

  /** Takes one of a row's number away, if there is one. */
  private def taken(numbers: JHashMap[UnsafeRow, Int], row: UnsafeRow): Boolean = {
    val number = numbers.getOrDefault(row, 0)
    if (number > 0) numbers.put(row, number - 1)
    number > 0
  }
}
