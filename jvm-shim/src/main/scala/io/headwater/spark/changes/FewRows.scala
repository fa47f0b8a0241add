package io.headwater.spark

import java.util.{HashMap => JHashMap, List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.headwater.{Access, Few, Gathered, Netted}

/**
 * Rows of tables that changed, in the memory of the driver if they are few.
 *
 * Example: one row of `sales` changed, and its file was written anew. A job reads the old and the new file, 200 rows. All
 * but two are in both and cancel out. Whatever reads the changed rows from now on starts no job for them.
 */
object FewRows {
  private[spark] val Most = 10000
  private[spark] val Bytes = 2L << 20

  /** Rows of larger files are compared where they are ([[Netted]]), if some went. */
  private val Small = 2L << 20

  /** Larger files are read by what needs their rows, without a comparison. */
  private val Read = 64L << 20
  private val Tasks = 32

  /**
   * @param changed for each table the rows that came and those that went, or null
   * @return for each table what is left of these; null if they are not compared
   */
  def of(changed: JList[DataFrame]): JList[LeftRows] = {
    val tables = changed.asScala.toSeq.grouped(2).toSeq
    val frames = tables.flatMap(sides => sides.filter(_ != null).map(_ -> few(sides)))
    val found = Gathered.of(frames.map(_._1), frames.map(_._2)).iterator
    tables.map(sides => left(sides, sides.map(each => if (each == null) None else found.next()))).asJava
  }

  /** Which rows come to the driver before they are compared. */
  private def few(sides: Seq[DataFrame]): Few =
    if (sides.contains(null)) Few(Most, Bytes, Some(Read), Tasks)
    else Few(Most, Bytes, Some(if (sides.forall(Gathered.size(_) <= Small)) Small else -1), Tasks)

  private def left(sides: Seq[DataFrame], found: Seq[Option[Seq[UnsafeRow]]]): LeftRows = (sides, found) match {
    case (Seq(came, null), Seq(Some(rows), _)) => new LeftRows(frame(came, rows), null, None)
    case (Seq(null, went), Seq(_, Some(rows))) => new LeftRows(null, frame(went, rows), None)
    case _ if sides.contains(null) || !areAlike(sides) => null
    case (Seq(came, _), Seq(Some(added), Some(removed))) =>
      val Seq(more, less) = netted(added, removed)
      inDriver(came, more, less)
    case (Seq(came, went), _) => if (sides.forall(Gathered.size(_) <= Read)) compared(came, went) else null
  }

  private def compared(came: DataFrame, went: DataFrame): LeftRows = {
    val net = Netted.of(came, went, Few(Most, Bytes))
    if (net.areFew) inDriver(came, net.rows(first = true), net.rows(first = false))
    else new LeftRows(net.frame(first = true), if (net.none(first = false)) null else net.frame(first = false), Some(net))
  }

  private def inDriver(of: DataFrame, added: Seq[UnsafeRow], removed: Seq[UnsafeRow]): LeftRows =
    new LeftRows(frame(of, added), if (removed.isEmpty) null else frame(of, removed), None)

  /** Whether equal bytes of some rows are equal values: they have the same types. */
  private def areAlike(frames: Seq[DataFrame]): Boolean =
    frames.map(_.queryExecution.analyzed.output.map(_.dataType)).distinct.size == 1

  /** Rows in memory that another session read, in a session. */
  def in(session: SparkSession, rows: DataFrame): DataFrame = Access.frame(session)(rows.queryExecution.analyzed)

  private def frame(of: DataFrame, rows: Seq[InternalRow]): DataFrame = Access.frame(of.sparkSession) {
    LocalRelation(of.queryExecution.analyzed.output.map(_.newInstance().withNullability(true)), rows)
  }

  /** Both sides without the rows that are in both, each as often as it is. Equal bytes are equal values of all types. */
  private def netted(came: Seq[UnsafeRow], went: Seq[UnsafeRow]): Seq[Seq[UnsafeRow]] = {
    val both = new JHashMap[UnsafeRow, Int]
    went.foreach(row => both.put(row, both.getOrDefault(row, 0) + 1))
    val added = came.filterNot(taken(both, _))
    Seq(added, went.filter(taken(both, _)))
  }

  /** Takes one of a row's number away, if there is one. */
  private def taken(numbers: JHashMap[UnsafeRow, Int], row: UnsafeRow): Boolean = {
    val number = numbers.getOrDefault(row, 0)
    if (number > 0) numbers.put(row, number - 1)
    number > 0
  }
}

/**
 * What is left of the rows of a table that came and went: no row is on both sides.
 *
 * @param added null if no files came
 * @param removed null if no rows are left of those that went
 * @param kept the rows, if they are not few
 */
final class LeftRows private[spark] (val added: DataFrame, val removed: DataFrame, kept: Option[Netted]) {

  /** Whether the rows are in the memory of the driver. */
  def areFew: Boolean = kept.isEmpty

  /** Lets the executors forget the rows. */
  def forget(): Unit = kept.foreach(_.forget())
}
