package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.Access

/**
 * The partitions of a window in which changed rows are among the first ones, where a view has just these.
 *
 * Example: a view has the three highest prices of each symbol. A lower price comes, and the view stays as it is.
 *
 * Which queries are followed so is decided in Python (`headwater.algebra.derive.foremost`). A query has one window.
 */
final class Foremost(query: DataFrame) {
  import Foremost._

  private val session = query.sparkSession
  private lazy val one = WindowOf(query)

  /**
   * The values of PARTITION BY of the partitions that are reached.
   * @param changed values of PARTITION BY and ORDER BY, in this order
   * @param there those of the view's rows, before the changes
   * @param first so many rows of a partition are the first ones
   * @return null if there are too many
   */
  def reached(changed: DataFrame, there: DataFrame, first: Int): DataFrame = Access.classic(session).withActive {
    val found = for {
      keys <- KeyRows.distinct(session, changed.queryExecution.analyzed, Most)
      rows = one.grouped(keys)
      known <- held(there.queryExecution.analyzed, rows.keys.toSeq, first)
    } yield rows.filter { case (group, of) => isReached(of, known.getOrElse(group, Nil), first) }.keys.toSeq
    found.map(each => Access.frame(session)(one.local(each, one.groups))).orNull
  }

  /** The view's rows of some partitions; none if there are too many. */
  private def held(view: LogicalPlan, groups: Seq[UnsafeRow], first: Int): Option[Map[UnsafeRow, Seq[UnsafeRow]]] = {
    val keys = one.local(groups, one.groups)
    val columns = view.output.take(one.groups.size)
    val near = KeyRows.narrowed(view, columns, keys)
    val mine = Join(near, keys, LeftSemi, KeyRows.matched(columns, keys), KeyRows.Broadcast)
    KeyRows.local(session, mine, Held).map(one.grouped)
  }

  /** Whether a changed row may be among the first ones of its partition, before or now. */
  private def isReached(changed: Seq[UnsafeRow], there: Seq[UnsafeRow], first: Int): Boolean =
    there.size < first || one.ordering.lteq(changed.min(one.ordering), there.max(one.ordering))
}

private object Foremost {

  /** With more changed rows, all their partitions are computed. */
  private val Most = 100000

  /** With more rows of the view, too. */
  private val Held = 400000
}
