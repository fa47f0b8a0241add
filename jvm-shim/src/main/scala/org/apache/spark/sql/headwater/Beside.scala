package org.apache.spark.sql.headwater

import java.util.{HashMap => JHashMap}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, RowOrdering, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/**
 * Rows of some groups that are in a span of their group's order, or are the nearest ones before and after it. One Spark job
 * reads all rows once, and keeps these.
 *
 * @param types of the columns: those that make a group, then those of the order
 * @param grouped so many columns make a group
 * @param order of the columns after these, which are bound to their places
 * @param spans for each group the first row of its span, then for each of these the last one
 * @param beside so many rows are kept on each side of a span, but for equal ones
 * @param most so many rows in spans are kept in a task
 */
final class Beside(
    types: Array[DataType], grouped: Int, order: Seq[SortOrder], spans: Packed, beside: Int, most: Int)
  extends (Iterator[InternalRow] => Iterator[Side]) with Serializable {
  import Beside._

  /** The rows of a query; none if there are too many. */
  def of(frame: DataFrame): Option[Seq[UnsafeRow]] = Access.running(frame.sparkSession) {
    val rows = frame.queryExecution.toRdd
    // Each task keeps rows of all groups. So there are no more tasks than run at the same time.
    val tasks = (Kept / (spans.count.toLong * beside).max(1)).min(rows.sparkContext.defaultParallelism)
    if (spans.count == 0) Some(Nil)
    else if (tasks == 0) None
    else {
      val fewer = if (tasks < rows.getNumPartitions) rows.coalesce(tasks.toInt) else rows
      val sides = fewer.mapPartitions(this).collect()
      if (sides.exists(_.more)) None
      else apply(sides.iterator.flatMap(_.rows.all)).toSeq.headOption.filterNot(_.more).map(_.rows.all.toSeq)
    }
  }

  override def apply(found: Iterator[InternalRow]): Iterator[Side] = {
    val references = types.toSeq.zipWithIndex.map { case (kind, n) => BoundReference(n, kind, nullable = true) }
    val (group, whole) = (UnsafeProjection.create(references.take(grouped)), UnsafeProjection.create(references))
    val ascending = RowOrdering.create(order, Nil)
    val descending = ascending.reverse
    val near = new JHashMap[UnsafeRow, Near](spans.count)
    val (least, greatest) = spans.all.toSeq.splitAt(spans.count / 2)
    least.zip(greatest).foreach { case (first, last) =>
      near.put(group(first).copy(), new Near(first, last, beside, ascending, descending))
    }
    var inside = 0
    while (inside <= most && found.hasNext) {
      val row = found.next()
      val known = near.get(group(row))
      if (known != null && known.takes(whole(row))) inside += 1
    }
    val kept = if (inside > most) Nil else near.values.asScala.flatMap(_.rows)
    Iterator.single(Side(Packed(kept.toSeq), inside > most))
  }
}

private object Beside {

  /** So many rows beside spans are brought to the driver at most. */
  private val Kept = 2000000L

  /** The rows of one group. */
  private final class Near(
      first: UnsafeRow, last: UnsafeRow, beside: Int, ascending: Ordering[InternalRow], descending: Ordering[InternalRow]) {
    private val before, inside, after = ArrayBuffer.empty[UnsafeRow]

    def rows: Iterable[UnsafeRow] = before ++ inside ++ after

    /** Takes a row if it is near; whether it is in the span. */
    def takes(row: UnsafeRow): Boolean =
      if (ascending.compare(row, first) < 0) { keep(before, row, ascending); false }
      else if (ascending.compare(row, last) > 0) { keep(after, row, descending); false }
      else { inside += row.copy(); true }

    /** Keeps a row if it is among the nearest ones. The farthest one comes first. */
    private def keep(nearest: ArrayBuffer[UnsafeRow], row: UnsafeRow, nearer: Ordering[InternalRow]): Unit = {
      val isFull = nearest.size >= beside
      if (!isFull || nearer.compare(row, nearest.head) > 0) {
        if (isFull) nearest.remove(0)
        val at = nearest.indexWhere(nearer.compare(_, row) > 0)
        nearest.insert(if (at < 0) nearest.size else at, row.copy())
      }
    }
  }
}

/** The rows of a task; none if there are `more` than wanted. */
final case class Side(rows: Packed, more: Boolean)

/** Rows as bytes, one after the other. Java writes and reads a row of its own class far slower. */
final class Packed private (fields: Int, sizes: Array[Int], bytes: Array[Byte]) extends Serializable {
  def count: Int = sizes.length

  def all: Iterator[UnsafeRow] = {
    var at = 0L
    sizes.iterator.map { size =>
      val row = new UnsafeRow(fields)
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + at, size)
      at += size
      row
    }
  }
}

object Packed {
  def apply(rows: Seq[UnsafeRow]): Packed = {
    val sizes = rows.iterator.map(_.getSizeInBytes).toArray
    val bytes = new Array[Byte](sizes.sum)
    var at = 0L
    rows.foreach { row =>
      row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + at)
      at += row.getSizeInBytes
    }
    new Packed(rows.headOption.fold(0)(_.numFields), sizes, bytes)
  }
}
