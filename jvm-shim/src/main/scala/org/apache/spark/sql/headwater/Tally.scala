package org.apache.spark.sql.headwater

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StringType
import org.apache.spark.util.AccumulatorV2

/** Of one partition of what passed: how many rows, and the 128-bit sum of their hashes, which no order changes. */
case class Sum(rows: Long, high: Long, low: Long) {
  def +(other: Sum): Sum = {
    val sum = low + other.low
    val carry = if (java.lang.Long.compareUnsigned(sum, low) < 0) 1 else 0
    Sum(rows + other.rows, high + other.high + carry, sum)
  }
  def hex: String = f"$high%016x$low%016x"
}

/**
 * The sums of all tasks, by partition values as a path spells them. A task that is tried again counts once.
 * The driver's also has the plan that counted, once it `ran`.
 */
class Tally extends AccumulatorV2[Map[Seq[String], Sum], Map[Seq[String], Sum]] {
  private val sums = mutable.Map.empty[Seq[String], Sum]
  @transient @volatile private[headwater] var ran: Option[TalliedExec] = None
  override def isZero: Boolean = sums.isEmpty
  override def copy(): Tally = { val same = new Tally; same.add(value); same }
  override def reset(): Unit = sums.clear()
  override def add(more: Map[Seq[String], Sum]): Unit =
    more.foreach { case (key, sum) => sums(key) = sums.get(key).fold(sum)(_ + sum) }
  override def merge(other: AccumulatorV2[Map[Seq[String], Sum], Map[Seq[String], Sum]]): Unit = add(other.value)
  override def value: Map[Seq[String], Sum] = sums.toMap
}

/**
 * Passes rows on and sums them up by partition, in the pass in which they are written. With a column `weight`, a row counts
 * so many times: 1, 0 or -1.
 */
case class Tallied(
    tally: Tally, columns: Seq[Attribute], hashed: Boolean, zone: String, weight: Option[Attribute], child: LogicalPlan)
  extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): Tallied = copy(child = newChild)
}

object Tallied {

  /**
   * The same rows, as [[AsRead]] has them unless they are to be `exact`, counted by the values of the partition columns
   * `columns`, and hashed if asked for, when they are computed. With a column `weight`, rows of a negative one are counted
   * and do not pass, nor does the column.
   */
  def of(
      frame: DataFrame, columns: Seq[String], hashed: Boolean, exact: Boolean, weight: Option[String]): (DataFrame, Tally) = {
    val session = Access.classic(frame.sparkSession)
    val tally = new Tally
    session.sparkContext.register(tally)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    (Access.frame(session)(tallying(frame, tally, columns, hashed, exact, weight, zone)), tally)
  }

  private def tallying(
      frame: DataFrame, tally: Tally, columns: Seq[String], hashed: Boolean, exact: Boolean, weight: Option[String],
      zone: String): LogicalPlan = {
    val analyzed = frame.queryExecution.analyzed
    val plan = if (exact) AsRead.valid(analyzed, columns) else AsRead(analyzed, columns, zone)
    def column(name: String) = plan.output.find(_.name == name).getOrElse(
      throw new IllegalArgumentException(s"no column $name"))
    val weighing = weight.map(column)
    val tallied = Tallied(tally, columns.map(column), hashed, zone, weighing, plan)
    weighing.fold[LogicalPlan](tallied) { by =>
      Project(plan.output.filterNot(_.exprId == by.exprId), Filter(GreaterThanOrEqual(by, Literal(0)), tallied))
    }
  }
}

case class TalliedStrategy(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Tallied(tally, columns, hashed, zone, weight, child) =>
      TalliedExec(tally, columns, hashed, zone, weight, planLater(child)) :: Nil
    case _ => Nil
  }
}

case class TalliedExec(
    tally: Tally, columns: Seq[Attribute], hashed: Boolean, zone: String, weight: Option[Attribute], child: SparkPlan)
  extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(newChild: SparkPlan): TalliedExec = copy(child = newChild)

  override lazy val metrics: Map[String, SQLMetric] =
    Map(TalliedExec.After -> SQLMetrics.createNanoTimingMetric(sparkContext, "time after the last row"))

  override protected def doExecute(): RDD[InternalRow] = {
    tally.ran = Some(this)
    val after = longMetric(TalliedExec.After)
    child.execute().mapPartitions(new Tallying(tally, after, columns, child.output, hashed, zone, weight))
  }
}

/** Counts the rows of a task. Spark reads the class file of a lambda, which may be gone by then: see `Classes`. */
private final class Tallying(
    into: Tally, after: SQLMetric, by: Seq[Attribute], all: Seq[Attribute], hashed: Boolean, zone: String,
    weight: Option[Attribute]) extends (Iterator[InternalRow] => Iterator[InternalRow]) with Serializable {
  override def apply(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val task = new TaskTally(by, all, hashed, zone, weight)
    TaskContext.get().addTaskCompletionListener[Unit] { _ =>
      into.add(task.spelled)
      after += task.sinceLast
    }
    new Iterator[InternalRow] {
      override def hasNext: Boolean = rows.hasNext || { task.end(); false }
      override def next(): InternalRow = { val row = rows.next(); task.add(row); row }
    }
  }
}

object TalliedExec {

  /** The metric that tells how long tasks went on when there were no more rows. Files are written mostly then. */
  val After = "after"
}

/** The sums of one task. Rows of one partition mostly come together, so the last one's is kept. */
private class TaskTally(
    by: Seq[Attribute], all: Seq[Attribute], hashed: Boolean, zone: String, weight: Option[Attribute]) {
  private class Cell {
    private var rows, high, low = 0L
    def sum: Sum = Sum(rows, high, low)
    def count(times: Int): Unit = rows += times
    def add(highs: Long, lows: Long): Unit = {
      high += highs
      low += lows
      if (java.lang.Long.compareUnsigned(low, lows) < 0) high += 1
    }
    def subtract(highs: Long, lows: Long): Unit = {
      high -= highs
      if (java.lang.Long.compareUnsigned(low, lows) < 0) high -= 1
      low -= lows
    }
  }
  private val cells = new java.util.HashMap[UnsafeRow, Cell]
  private val key = UnsafeProjection.create(by, all)
  private val times = weight.map(by => all.indexWhere(_.exprId == by.exprId)) // planning may change all but the id
  require(times.forall(_ >= 0), s"no column ${weight.mkString}")
  private val whole = UnsafeProjection.create(all.indices.filterNot(times.contains).map(all), all)
  private var last: UnsafeRow = _
  private var cell: Cell = _
  private var ended = 0L

  def end(): Unit = if (ended == 0) ended = System.nanoTime

  /** Nanoseconds since there are no more rows; 0 while there are. */
  def sinceLast: Long = if (ended == 0) 0 else System.nanoTime - ended

  def add(row: InternalRow): Unit = {
    val many = times.fold(1)(row.getInt)
    if (many != 0) {
      if (cell == null || by.nonEmpty) moveTo(key(row))
      cell.count(many)
      if (hashed) {
        val bytes = row match { case unsafe: UnsafeRow if times.isEmpty => unsafe; case other => whole(other) }
        val (high, low) = (hash(bytes, TaskTally.High), hash(bytes, TaskTally.Low))
        if (many > 0) cell.add(high, low) else cell.subtract(high, low)
      }
    }
  }

  private def moveTo(mine: UnsafeRow): Unit = if (cell == null || mine != last) {
    cell = cells.get(mine)
    if (cell == null) { cell = new Cell; cells.put(mine.copy(), cell) }
    last = mine.copy()
  }

  private def hash(row: UnsafeRow, seed: Long): Long =
    XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, seed)

  /**
   * By partition values as text: `null` for values that go to the null partition, as the empty string does. With ANSI, a
   * decimal is spelled without an exponent, whatever the session says.
   */
  def spelled: Map[Seq[String], Sum] = {
    val texts = by.zipWithIndex.map { case (column, n) =>
      Cast(BoundReference(n, column.dataType, nullable = true), StringType, Some(zone), ansiEnabled = true)
    }
    val found = mutable.Map.empty[Seq[String], Sum]
    cells.forEach { (values, cell) =>
      val spelled = texts.map(text => Option(text.eval(values)).map(_.toString).filterNot(AsRead.Nameless).orNull)
      found(spelled) = found.get(spelled).fold(cell.sum)(_ + cell.sum)
    }
    found.toMap
  }
}

private object TaskTally {
  val Low = 42L
  val High = 0x9e3779b97f4a7c15L
}

/**
 * What a query read of a table's files: how many bytes they have, µs of its own time that reading took, what it `needs` of
 * them, and the part of the bytes that this should be. Files that are no table's lie in the directory `place`.
 */
case class ReadOf(table: Option[String], place: String, bytes: Long, micros: Long, needs: Option[Needs], share: Double)

/** What went into moving bytes while a counted query was written, by Spark's own metrics. */
object Spent {

  /**
   * What was read of tables that lie in files. One that is read twice is there once, with the sum of both times and
   * the bytes of the larger one. Formats that Spark does not read in batches are missing, for it does not say how long
   * that took; so is a scan that did not run.
   */
  def reads(tally: Tally): Seq[ReadOf] = {
    val nodes = tally.ran.toSeq.flatMap(Needs.below)
    val scans = nodes.collect {
      case scan: FileSourceScanExec if scan.metrics.get("scanTime").exists(_.value > 0) => scan
    }
    val passed = nodes.collect { case filter: FilterExec => Needs.scanned(filter) -> filter }
    scans.distinctBy(System.identityHashCode).groupBy(scan => (Needs.table(scan), Needs.place(scan))).toSeq.map { case ((table, place), all) =>
      val micros = all.map(scan => scan.metrics("scanTime").value * 1000 / atOnce(scan, scan.inputRDD.getNumPartitions))
      val shares = all.map { scan =>
        val rows = scan.metrics("numOutputRows").value
        val kept = passed.collectFirst {
          case (Some(below), filter) if (below eq scan) && Needs.tells(filter, scan) => filter.metrics("numOutputRows").value
        }.getOrElse(rows)
        val columns = scan.output.size.toDouble / scan.relation.schema.size.max(1)
        columns * (if (rows > 0) kept.toDouble / rows else 1.0)
      }
      ReadOf(table, place, all.map(_.metrics("filesSize").value).max, micros.sum, Needs.of(all), shares.sum.min(1))
    }
  }

  /** µs that tasks went on writing when they had all rows; the mean, for they run side by side. */
  def writing(tally: Tally): Long = tally.ran.fold(0L) { ran =>
    ran.longMetric(TalliedExec.After).value / 1000 / atOnce(ran, ran.execute().getNumPartitions)
  }

  /** Into how many the times of tasks divide. */
  private def atOnce(plan: SparkPlan, tasks: Int): Int = tasks.min(plan.session.sparkContext.defaultParallelism).max(1)
}
