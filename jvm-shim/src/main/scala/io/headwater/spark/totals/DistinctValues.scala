package io.headwater.spark

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._

/**
 * The values that some functions of an aggregate take once for each group. Example: `count(DISTINCT customer)`. The totals are
 * finer by them: a row for each group and customer, with the number of its rows.
 *
 * @param functions those of the aggregate
 */
private[spark] final class DistinctValues(functions: Seq[AggregateExpression]) {
  import DistinctValues._

  /** The columns of totals that have them. */
  val columns: Seq[Alias] = functions.filter(takesOnce).flatMap(taken).foldLeft(Seq.empty[Expression])((known, each) =>
    if (known.exists(_.semanticEquals(each))) known else known :+ each
  ).zipWithIndex.map { case (each, n) => Alias(each, s"value$n")() }

  /** A function, computed of the totals of a group. */
  def over(function: AggregateExpression, totals: Map[String, Attribute]): AggregateExpression = {
    val own = taken(function).map(each => columns.find(_.child.semanticEquals(each)).get.name)
    val computed = function.aggregateFunction.withNewChildren(own.map(totals))
    function.copy(
      aggregateFunction = computed.asInstanceOf[AggregateFunction],
      isDistinct = own.distinct.size < columns.size, // the values of all columns are there once
      filter = None,
      resultId = NamedExpression.newExprId)
  }
}

private[spark] object DistinctValues {

  /** Whether a function takes equal values once, and would have another result if it took each of them. */
  def takesOnce(function: AggregateExpression): Boolean = function.isDistinct && (function.aggregateFunction match {
    case _: Min | _: Max | _: BoolAnd | _: BoolOr => false
    case _ => true
  })

  /** What a function takes. A row that a FILTER leaves out has NULL, of which each function makes nothing. */
  private def taken(function: AggregateExpression): Seq[Expression] = function.aggregateFunction.children.map { each =>
    function.filter.fold(each)(where => If(where, each, Literal(null, each.dataType)))
  }
}
