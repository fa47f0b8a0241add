package org.apache.spark.sql.headwater

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.LocalTableScanExec
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * How much of a query is gathered in the driver. More than this is left where it is.
 *
 * @param rows that a query makes
 * @param bytes that these rows have
 * @param read the bytes that it reads, by Spark's estimate. Spark takes rows of an RDD for endless; without a limit, these are
 *             gathered, too
 * @param tasks that read them
 */
final case class Few(rows: Int, bytes: Long = 64L << 20, read: Option[Long] = None, tasks: Int = Int.MaxValue)

/**
 * Rows of queries in the memory of the driver. They are Spark's own rows, byte by byte: no value passes through a type of
 * another language.
 */
object Gathered {

  /** For each query its rows if it has few, by one Spark job for all. */
  def of(frames: Seq[DataFrame], few: Few): Seq[Option[Seq[UnsafeRow]]] = of(frames, frames.map(_ => few))

  /** The same; what is few may differ by query. */
  def of(frames: Seq[DataFrame], few: Seq[Few]): Seq[Option[Seq[UnsafeRow]]] = frames.headOption.fold(
    Seq.empty[Option[Seq[UnsafeRow]]]) { first =>
    val session = Access.classic(first.sparkSession)
    Access.running(session) {
      val here = frames.zip(few).map { case (frame, most) => local(frame).filter(rows => fits(rows, most)) }
      val asked = frames.zipWithIndex.filter { case (frame, n) => here(n).isEmpty && few(n).read.forall(size(frame) <= _) }
      val parts = asked.map { case (frame, n) =>
        val run = frame.queryExecution
        n -> run.toRdd.mapPartitions(new Gathering(n, run.analyzed.output.map(_.dataType).toArray, few(n).rows, few(n).bytes))
      }.filter { case (n, rows) => rows.getNumPartitions <= few(n).tasks }
      val found = if (parts.isEmpty) Map.empty[Int, Seq[Part]]
        else collected(session.sparkContext.union(parts.map(_._2)), few)
      val ran = parts.map(_._1).toSet
      here.zipWithIndex.map {
        case (None, n) if ran(n) =>
          val mine = found.getOrElse(n, Nil)
          Option.when(!mine.exists(_.more))(mine.flatMap(_.rows)).filter(fits(_, few(n)))
        case (known, _) => known
      }
    }
  }

  /** What tasks found, by query. */
  private def collected(parts: RDD[Part], few: Seq[Few]): Map[Int, Seq[Part]] = {
    val found = few.map(new Together(_))
    parts.context.runJob[Part, Array[Part]](parts, new Taking, (task: Int, some: Array[Part]) =>
      some.foreach(part => found(part.of).add(task, part)))
    found.zipWithIndex.map { case (some, n) => n -> some.parts }.toMap
  }

  /** The rows of a query that Spark evaluates while it plans it; none if a job would compute them. */
  def local(frame: DataFrame): Option[Seq[UnsafeRow]] = Access.classic(frame.sparkSession).withActive {
    frame.queryExecution.executedPlan match {
      case scan: LocalTableScanExec => Some(scan.executeCollect().toSeq.map(_.asInstanceOf[UnsafeRow]))
      case _ => None
    }
  }

  /** Rows in memory that one task reads. */
  def oneTask(of: org.apache.spark.sql.SparkSession, columns: StructType, rows: Seq[InternalRow]): DataFrame = {
    val session = Access.classic(of)
    session.withActive(session.internalCreateDataFrame(session.sparkContext.parallelize(rows, 1), columns))
  }

  /** The bytes that a query reads, by Spark's estimate. */
  def size(frame: DataFrame): BigInt = Access.classic(frame.sparkSession).withActive {
    frame.queryExecution.optimizedPlan.stats.sizeInBytes
  }

  private def fits(rows: Seq[UnsafeRow], few: Few): Boolean =
    rows.size <= few.rows && rows.iterator.map(_.getSizeInBytes.toLong).sum <= few.bytes
}

/** What the tasks of a query found. No rows are kept if all tasks have more than is few, however few each has. */
private final class Together(few: Few) {
  private var found = Seq.empty[(Int, Part)]
  private var rows, bytes = 0L
  private var more = false

  def add(task: Int, part: Part): Unit = {
    rows += part.rows.length
    bytes += part.rows.iterator.map(_.getSizeInBytes.toLong).sum
    more ||= part.more || rows > few.rows || bytes > few.bytes
    found = if (more) Seq(task -> Part(part.of, Array.empty, more = true)) else found :+ (task -> part)
  }

  def parts: Seq[Part] = found.sortBy(_._1).map(_._2)
}

private final class Taking extends (Iterator[Part] => Array[Part]) with Serializable {
  override def apply(parts: Iterator[Part]): Array[Part] = parts.toArray
}

/** The rows of a task; none if there are `more` than wanted. */
private final case class Part(of: Int, rows: Array[UnsafeRow], more: Boolean)

/** Takes the rows of a task. Spark reads the class file of a lambda, which may be gone by then: see `Classes`. */
private final class Gathering(of: Int, types: Array[DataType], most: Int, bytes: Long)
  extends (Iterator[InternalRow] => Iterator[Part]) with Serializable {
  override def apply(found: Iterator[InternalRow]): Iterator[Part] = {
    val unsafe = UnsafeProjection.create(types)
    val rows = ArrayBuffer.empty[UnsafeRow]
    var size = 0L
    while (rows.size <= most && size <= bytes && found.hasNext) {
      val row = unsafe(found.next()).copy()
      rows += row
      size += row.getSizeInBytes
    }
    val more = rows.size > most || size > bytes
    Iterator.single(Part(of, if (more) Array.empty else rows.toArray, more))
  }
}
