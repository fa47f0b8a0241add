package org.apache.spark.sql.headwater

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{Aggregator, HashPartitioner}
import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.serializer.KryoSerializer
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types.DataType
import org.apache.spark.storage.StorageLevel

/**
 * What is left of two queries when each row that is in both is taken out of both, as often as it is in both.
 *
 * Example: a DELETE of ten rows wrote a file of 100,000 rows anew. The old and the new file have 199,990 rows, and ten are left.
 *
 * Rows are compared by their bytes, so this holds for all types. Those that are left stay in the memory and on the disks of the
 * executors, unless they are few.
 *
 * @param of a query with the columns of both
 * @param left the rows that are left, and how often: below 0 for those of the second query
 */
final class Netted private (of: DataFrame, left: RDD[(UnsafeRow, Long)], sides: Map[Boolean, OneSide]) {

  /** Whether the rows that are left are few, on both sides. */
  def areFew: Boolean = !sides.values.exists(_.more)

  /** The rows that are left on one side, if they are few. */
  def rows(first: Boolean): Seq[UnsafeRow] = sides(first).rows

  /** Whether none is left on one side. */
  def none(first: Boolean): Boolean = sides(first).count == 0

  /** The rows that are left on one side, where they are. */
  def frame(first: Boolean): DataFrame = {
    val session = Access.classic(of.sparkSession)
    Access.frame(session) {
      val one = sides(first)
      val size = Statistics(sizeInBytes = BigInt(one.bytes.max(1)), rowCount = Some(BigInt(one.count)))
      val output = of.queryExecution.analyzed.output.map(_.newInstance().withNullability(true))
      val rows = left.mapPartitions(new Repeating(first))
      LogicalRDD(output, rows, UnknownPartitioning(left.getNumPartitions))(session, Some(size))
    }
  }

  /** Lets the executors forget the rows. Whatever still reads them makes them again. */
  def forget(): Unit = left.unpersist(blocking = false)
}

object Netted {

  /** Each task compares rows of about so many bytes of files. */
  private val Task = 4L << 20

  /** @param few which rows are brought to the driver */
  def of(came: DataFrame, went: DataFrame, few: Few): Netted = {
    val session = Access.classic(came.sparkSession)
    Access.running(session) {
      val size = Gathered.size(came) + Gathered.size(went)
      val tasks = (size / Task + 1).min(session.sessionState.conf.numShufflePartitions).toInt
      val both = weighed(came, 1).union(weighed(went, -1))
      val plain = session.sparkContext.getConf.set("spark.kryo.registrationRequired", "false")
        .remove("spark.kryo.registrator").remove("spark.kryo.classesToRegister")
      val left = new ShuffledRDD[UnsafeRow, Long, Long](both, new HashPartitioner(tasks))
        .setSerializer(new KryoSerializer(plain))
        .setAggregator(new Aggregator[UnsafeRow, Long, Long](Weight, Weights, Weights))
        .setMapSideCombine(false)
        .mapPartitions(Uneven).persist(StorageLevel.MEMORY_AND_DISK)
      val found = left.mapPartitions(new Sifting(few.rows, few.bytes)).collect().toSeq
      val sides = Seq(true, false).map(first => first -> found.map(_.side(first)).reduce(_.and(_, few))).toMap
      val netted = new Netted(came, left, sides)
      if (netted.areFew) netted.forget()
      netted
    }
  }

  private def weighed(frame: DataFrame, weight: Long): RDD[(UnsafeRow, Long)] = {
    val run = frame.queryExecution
    run.toRdd.mapPartitions(new Weighing(run.analyzed.output.map(_.dataType).toArray, weight))
  }
}

/** The rows of one side that are left; none of them if there are `more` than wanted. */
private final class OneSide(val rows: Array[UnsafeRow], val count: Long, val bytes: Long, val more: Boolean) extends Serializable {
  def and(other: OneSide, few: Few): OneSide = {
    val (both, size) = (count + other.count, bytes + other.bytes)
    val many = more || other.more || both > few.rows || size > few.bytes
    new OneSide(if (many) Array.empty else rows ++ other.rows, both, size, many)
  }
}

private final class BothSides(first: OneSide, second: OneSide) extends Serializable {
  def side(isFirst: Boolean): OneSide = if (isFirst) first else second
}

/** Spark reads the class file of a lambda, which may be gone by then (see `Classes`). So none of these is a lambda. */
private final class Weighing(types: Array[DataType], weight: Long)
  extends (Iterator[InternalRow] => Iterator[(UnsafeRow, Long)]) with Serializable {
  override def apply(rows: Iterator[InternalRow]): Iterator[(UnsafeRow, Long)] = {
    val unsafe = UnsafeProjection.create(types)
    rows.map(row => (unsafe(row).copy(), weight))
  }
}

private object Weight extends (Long => Long) with Serializable {
  override def apply(weight: Long): Long = weight
}

private object Weights extends ((Long, Long) => Long) with Serializable {
  override def apply(one: Long, other: Long): Long = one + other
}

/** The rows that are not as often in one query as in the other. */
private object Uneven extends (Iterator[(UnsafeRow, Long)] => Iterator[(UnsafeRow, Long)]) with Serializable {
  override def apply(rows: Iterator[(UnsafeRow, Long)]): Iterator[(UnsafeRow, Long)] = rows.filter(_._2 != 0)
}

/** Brings rows to the driver, as far as those of a side are few. */
private final class Sifting(most: Int, bytes: Long) extends (Iterator[(UnsafeRow, Long)] => Iterator[BothSides]) with Serializable {
  override def apply(rows: Iterator[(UnsafeRow, Long)]): Iterator[BothSides] = {
    val (first, second) = (new Sifted(most, bytes), new Sifted(most, bytes))
    rows.foreach { case (row, weight) => (if (weight > 0) first else second).add(row, math.abs(weight)) }
    Iterator.single(new BothSides(first.side, second.side))
  }
}

private final class Sifted(most: Int, bytes: Long) {
  private val rows = ArrayBuffer.empty[UnsafeRow]
  private var (count, size) = (0L, 0L)

  def add(row: UnsafeRow, times: Long): Unit = {
    count += times
    size += times * row.getSizeInBytes
    if (isFew) rows ++= Iterator.fill(times.toInt)(row) else rows.clear()
  }

  def side: OneSide = new OneSide(rows.toArray, count, size, !isFew)

  private def isFew: Boolean = count <= most && size <= bytes
}

/** The rows of one side, each as often as it is left. */
private final class Repeating(first: Boolean) extends (Iterator[(UnsafeRow, Long)] => Iterator[InternalRow]) with Serializable {
  override def apply(rows: Iterator[(UnsafeRow, Long)]): Iterator[InternalRow] = rows.flatMap { case (row, weight) =>
    Iterator.iterate(if (first) weight else -weight)(_ - 1).takeWhile(_ > 0).map(_ => row: InternalRow)
  }
}
