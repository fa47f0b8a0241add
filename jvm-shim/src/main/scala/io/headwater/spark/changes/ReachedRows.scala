package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.Access

/**
 * The changed rows of an operator that takes rows with the same key together: an aggregate, `DISTINCT`, `INTERSECT`, `EXCEPT`,
 * or a join with the changed table on the optional side, or on the side that decides which rows of the other one there are.
 *
 * Example: customer 7 has a new order, and the query counts the orders of `customers LEFT JOIN orders`. The rows of the join
 * with customer 7 come as they are now, and went as they were. Rows with other customers did not change. So both states are
 * computed for the keys of the changed rows alone.
 *
 * @param side the number of the input that reads the changed table
 * @param changed this input, with rows that stand in for it
 * @param now all inputs as they are now
 * @param before all inputs as they were
 */
private[spark] final class ReachedRows(
    session: SparkSession, node: LogicalPlan, side: Int, changed: LogicalPlan, now: Seq[LogicalPlan], before: Seq[LogicalPlan]) {
  import ReachedRows._

  private val compared = keysOf(node)
  private val isNotIn = notIn(node).nonEmpty
  private lazy val keys: LogicalPlan = {
    val read = new Narrowing(session, changed).narrowed
    val found = Distinct(Project(compared.zipWithIndex.map { case (key, n) => Alias(key.inputs(side), s"key$n")() }, read))
    val (columns, rows) = Access.first(session, Most + 1)(found)
    val reachAll = rows.length > Most || isNotIn && rows.exists(_.isNullAt(0))
    if (reachAll) found else LocalRelation(columns.map(_.withNullability(true)), rows.toSeq ++ missing(rows))
  }

  /** A row of the query that has NULL on the left side of `NOT IN` depends on whether there are rows on the other one. */
  private def missing(keys: Array[InternalRow]): Option[InternalRow] = Option.when(isNotIn && keys.nonEmpty)(InternalRow(null))

  /** These rows, which stand in for the operator; `alone`: no other place has changed rows. */
  def rows(alone: Boolean): LogicalPlan = {
    val came = if (alone) StandIns.Came else StandIns.There
    val states = Seq(now -> came, before -> StandIns.Went).map { case (inputs, weight) =>
      StandIns.weighted(node.withNewChildren(inputs.zipWithIndex.map { case (each, n) => restricted(each, n) }), weight)
    }
    StandIns.of(Union(states), node.output)
  }

  /** The rows of an input that the keys reach. In `x NOT IN (SELECT y …)`, each row of `y` decides over those of `x`. */
  private def restricted(plan: LogicalPlan, input: Int): LogicalPlan = keys match {
    case _: LocalRelation if isNotIn && input == 0 => withKeys(plan, input)
    case _ => if (isNotIn) plan else withKeys(plan, input)
  }

  private def withKeys(plan: LogicalPlan, input: Int): LogicalPlan = {
    val wanted = keys.output.map(_.newInstance())
    val those = Project(keys.output.zip(wanted).map { case (from, to) => Alias(from, from.name)(to.exprId) }, keys)
    val equal = compared.zip(wanted).map { case (key, value) =>
      if (key.orNull) EqualNullSafe(key.inputs(input), value) else EqualTo(key.inputs(input), value)
    }
    Join(filtered(plan, input), those, LeftSemi, Some(equal.reduce(And)), JoinHint.NONE)
  }

  /** An input with a condition by which files are skipped, if the keys are in the driver. */
  private def filtered(plan: LogicalPlan, input: Int): LogicalPlan = keys match {
    case LocalRelation(_, rows, _, _) =>
      ValueRanges.near(compared.map(_.inputs(input)), rows, Listed, compared(_).orNull).fold(plan)(Filter(_, plan))
    case _ => plan
  }
}

private[spark] object ReachedRows {

  /** So many keys are brought to the driver. */
  private val Most = 10000
  private val Listed = 10

  /**
   * What rows have in common that an operator takes together.
   *
   * @param inputs an expression over each of the operator's inputs
   * @param orNull whether NULL counts as a value. A full join compares by `=`, and keeps changed rows without a key. These
   *   come and go by themselves, among all rows without a key.
   */
  private final case class Key(inputs: Seq[Expression], orNull: Boolean)

  /** Whether an operator takes several rows of an input together. `derive/way.py` says the same. */
  def isKeyed(node: LogicalPlan, side: Int): Boolean = node match {
    case _: Aggregate | _: Distinct | _: Intersect | _: Except => true
    case join: Join => join.joinType match {
      case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => side == 1
      case RightOuter => side == 0
      case FullOuter => true
      case _ => false
    }
    case _ => false
  }

  private def keysOf(node: LogicalPlan): Seq[Key] = {
    val found = node match {
      case aggregate: Aggregate => aggregate.groupingExpressions.map(each => Key(Seq(each), orNull = true))
      case Distinct(child) => child.output.map(each => Key(Seq(each), orNull = true))
      case _: Intersect | _: Except => node.children.map(_.output).transpose.map(Key(_, orNull = true))
      case join: Join => equalities(join) ++ notIn(join)
    }
    require(found.nonEmpty, s"${node.nodeName} has no keys")
    found
  }

  private def equalities(join: Join): Seq[Key] = Narrowing.conjuncts(join.condition).flatMap {
    case EqualTo(a, b) => across(join, a, b, orNull = join.joinType == FullOuter)
    case EqualNullSafe(a, b) => across(join, a, b, orNull = true)
    case _ => None
  }

  /** What `x NOT IN (SELECT y …)` compares, as Spark writes it: an anti join on `x = y OR (x = y) IS NULL`, and nothing else. */
  private def notIn(node: LogicalPlan): Option[Key] = node match {
    case join @ Join(_, _, LeftAnti, Some(Or(equal @ EqualTo(a, b), IsNull(again))), _) if equal.semanticEquals(again) =>
      across(join, a, b, orNull = true)
    case _ => None
  }

  private def across(join: Join, a: Expression, b: Expression, orNull: Boolean): Option[Key] = {
    def isOf(each: Expression, side: LogicalPlan) = each.references.nonEmpty && each.references.subsetOf(side.outputSet) &&
      each.deterministic && !each.exists(_.isInstanceOf[PlanExpression[_]])
    if (isOf(a, join.left) && isOf(b, join.right)) Some(Key(Seq(a, b), orNull))
    else if (isOf(b, join.left) && isOf(a, join.right)) Some(Key(Seq(b, a), orNull))
    else None
  }
}
