package io.headwater.spark

import java.util.{HashMap => JHashMap, List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.headwater.{Access, Few, Gathered}

/**
 * How often each row comes to a view or goes from it, in the memory of the driver.
 *
 * Example: a view has the row `(7, 10)` three times, and one copy goes. The copies are looked up, all three are taken out of the
 * view, and two of them are written again. Rows are the same if their bytes are: 0.0 and -0.0 are two rows, and so are strings
 * that a collation takes for equal.
 *
 * @param output the columns of the view
 * @param net how often each row comes; below 0: how often it goes
 */
final class RowChanges private (session: SparkSession, output: Seq[Attribute], net: JHashMap[UnsafeRow, Int]) {
  import RowChanges._

  /** How many different rows go. */
  def going: Int = gone.size

  /** The rows that go, each once. */
  def went: DataFrame = frame(gone)

  /** The rows that come. */
  def came: DataFrame = frame(net.asScala.toSeq.flatMap { case (row, times) => Seq.fill(times)(row) })

  /**
   * What takes the place of some rows of the view.
   * @param there the rows, with all copies of those that go
   * @return the rows that come, and those that stay; null if there are more than `most` rows, or `bytes`
   */
  def instead(there: DataFrame, most: Int, bytes: Long): Instead = {
    require(areAlike(there.queryExecution.analyzed.output, output), "rows of a view have other types than those that change")
    Gathered.of(Seq(there), Few(most, bytes)).head.fold[Instead](null) { found =>
      val left = new JHashMap[UnsafeRow, Int](net)
      found.foreach(add(left, _, 1))
      val missing = left.values.asScala.filter(_ < 0).map(_.toLong).sum
      new Instead(-missing, frame(left.asScala.toSeq.flatMap { case (row, times) => Seq.fill(times)(row) }))
    }
  }

  private lazy val gone: Seq[UnsafeRow] = net.asScala.toSeq.collect { case (row, times) if times < 0 => row }

  private def frame(rows: Seq[UnsafeRow]): DataFrame = Access.frame(session) {
    LocalRelation(output.map(_.newInstance().withNullability(true)), rows)
  }
}

/**
 * Rows that take the place of others.
 *
 * @param missing how many copies are to go that are not there
 */
final class Instead private[spark] (val missing: Long, val rows: DataFrame)

object RowChanges {

  /** The changes of all terms together; null if they have more than `most` rows, or `bytes`. The last column of each is its weight. */
  def of(terms: JList[DataFrame], most: Int, bytes: Long): RowChanges = {
    val all = terms.asScala.toSeq
    val outputs = all.map(_.queryExecution.analyzed.output)
    val output = outputs.head.init
    require(outputs.forall(each => areAlike(each.init, output)), "terms of a query have different types")
    val found = Gathered.of(all, Few(most, bytes))
    if (found.exists(_.isEmpty) || found.flatten.map(_.size).sum > most) null
    else {
      val own = UnsafeProjection.create(output, outputs.head)
      val net = new JHashMap[UnsafeRow, Int]
      found.flatten.flatten.foreach(row => add(net, own(row), row.getInt(output.size)))
      new RowChanges(all.head.sparkSession, output, net)
    }
  }

  private def add(net: JHashMap[UnsafeRow, Int], row: UnsafeRow, times: Int): Unit = {
    val now = net.getOrDefault(row, 0) + times
    if (now == 0) net.remove(row) else net.put(row.copy(), now)
  }

  private def areAlike(some: Seq[Attribute], others: Seq[Attribute]): Boolean =
    some.size == others.size && some.zip(others).forall { case (one, other) => DataTypeUtils.sameType(one.dataType, other.dataType) }
}
