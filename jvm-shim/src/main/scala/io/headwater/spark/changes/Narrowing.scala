package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.Access

/**
 * Lets a query of changed rows read only the part of other tables that may join them.
 *
 * Example: orders 7 and 8 changed, and the query joins them with their lines. A condition on the lines, that their order is 7
 * or 8, changes no result. Spark skips files and row groups by it. If an order is joined with the price that is valid on its
 * day, prices that begin after the last of these days are not read.
 */
private[spark] final class Narrowing(session: SparkSession, plan: LogicalPlan) {
  import Narrowing._

  private val standIn = StandIns.find(plan)
  private lazy val links = found(plan, Nil)
  private lazy val values: Seq[(Expression, Seq[Any])] = known(distinct(links.map(_.changed)))

  /** The plan with conditions on the tables that the changed rows are joined with. */
  def narrowed: LogicalPlan = if (links.isEmpty) plan else rewritten(plan, Nil)

  /** The links of the changed rows to other tables, at and below a node. */
  private def found(node: LogicalPlan, above: Seq[Expression]): Seq[Link] = node match {
    case each if each eq standIn => Nil
    case join: Join => linked(join, above) ++ found(side(join), within(side(join), above ++ held(join)))
    case Filter(condition, child) => found(child, above ++ conjuncts(Some(condition)))
    case other => found(side(other), within(side(other), above))
  }

  private def rewritten(node: LogicalPlan, above: Seq[Expression]): LogicalPlan = node match {
    case each if each eq standIn => each
    case join: Join =>
      val own = side(join)
      val conditions = linked(join, above).flatMap(condition)
      val children = join.children.map {
        case child if child eq own => rewritten(own, within(own, above ++ held(join)))
        case child => conditions.filter(_.references.subsetOf(child.outputSet)).reduceOption(And).fold(child)(Filter(_, child))
      }
      join.withNewChildren(children)
    case Filter(condition, child) => Filter(condition, rewritten(child, above ++ conjuncts(Some(condition))))
    case other => other.withNewChildren(other.children.map {
      case child if child eq side(other) => rewritten(child, within(child, above))
      case child => child
    })
  }

  /** What a joined row fulfils: the condition of the join itself, and of an inner join what stands above it. */
  private def linked(join: Join, above: Seq[Expression]): Seq[Link] = if (keeps(join)) Nil else {
    val all = conjuncts(join.condition) ++ (if (join.joinType == Inner || join.joinType == Cross) above else Nil)
    val others = AttributeSet(join.children.filterNot(_ eq side(join)).flatMap(_.output))
    all.flatMap(compared).flatMap { case (one, how, other) =>
      val fits = isPlain(other) && other.references.nonEmpty && other.references.subsetOf(others) && ValueRanges.isOrdered(other)
      Option.when(fits && one.dataType == other.dataType)(one).flatMap(origin(_, side(join))).filter(ValueRanges.isOrdered)
        .map(Link(_, how, other))
    }
  }

  /** What a row of the other table fulfils if it joins some changed row. */
  private def condition(link: Link): Option[Expression] = values.collectFirst {
    case (changed, all) if changed.semanticEquals(link.changed) => link.how match {
      case Equal => ValueRanges.among(link.other, all, Listed)
      case EqualOrNull => Or(IsNull(link.other), ValueRanges.among(link.other, all, Listed))
      case AtLeast => ValueRanges.upTo(link.other, all)
      case AtMost => ValueRanges.from(link.other, all)
    }
  }

  /** An expression over the output of a node, as one over the changed rows; none if it is not a column of theirs. */
  private def origin(expression: Expression, node: LogicalPlan): Option[Expression] =
    if (!isPlain(expression) || !expression.references.subsetOf(node.outputSet)) None
    else node match {
      case each if each eq standIn => Some(expression)
      case Project(columns, child) =>
        val made = AttributeMap(columns.collect { case alias: Alias => alias.toAttribute -> alias.child })
        origin(expression.transform { case column: Attribute => made.getOrElse(column, column) }, child)
      case other => origin(expression, side(other))
    }

  /** Whether the other table's rows make rows of the join also if no changed row joins them. */
  private def keeps(join: Join): Boolean = join.joinType match {
    case Inner | Cross => false
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => !(side(join) eq join.left)
    case RightOuter => !(side(join) eq join.right)
    case _ => true
  }

  /** What each row of the changed side fulfils that makes a row of the join. An outer or an anti join keeps the others. */
  private def held(join: Join): Seq[Expression] = join.joinType match {
    case Inner | Cross | LeftSemi => conjuncts(join.condition)
    case _ => Nil
  }

  private def side(node: LogicalPlan): LogicalPlan = node.children.find(StandIns.in).get

  private def within(child: LogicalPlan, conditions: Seq[Expression]): Seq[Expression] =
    conditions.filter(_.references.subsetOf(child.outputSet))

  /** The values of some expressions over the changed rows; none if there are too many rows. */
  private def known(wanted: Seq[Expression]): Seq[(Expression, Seq[Any])] = {
    val columns = wanted.zipWithIndex.map { case (each, n) => Alias(each, s"value$n")() }
    val changed = Project(columns, StandIns.plain(standIn))
    val isHere = changed.collectLeaves().forall(_.isInstanceOf[LocalRelation])
    val rows = Access.rows(session)(if (isHere) changed else Limit(Literal(Most + 1), Distinct(changed)))
    if (rows.length > Most) Nil
    else wanted.zipWithIndex.map { case (each, n) =>
      each -> rows.map(_.get(n, each.dataType)).filter(_ != null).distinct.toSeq
    }.filter(_._2.forall(ValueRanges.isFound))
  }
}

private[spark] object Narrowing {

  /** Of more changed rows, no values are looked at. */
  private val Most = 20000

  /** So many values are listed. Of more, Parquet takes the least and the greatest, and ranges are narrower. */
  private val Listed = 10

  /** How a value of a changed row is to one of another table that it joins. */
  private sealed trait How
  private case object Equal extends How
  private case object EqualOrNull extends How
  private case object AtLeast extends How
  private case object AtMost extends How

  /**
   * @param changed an expression over the changed rows
   * @param other one over another table
   */
  private final case class Link(changed: Expression, how: How, other: Expression)

  private def compared(condition: Expression): Seq[(Expression, How, Expression)] = condition match {
    case EqualTo(a, b) => Seq((a, Equal, b), (b, Equal, a))
    case EqualNullSafe(a, b) => Seq((a, EqualOrNull, b), (b, EqualOrNull, a))
    case LessThan(a, b) => Seq((a, AtMost, b), (b, AtLeast, a))
    case LessThanOrEqual(a, b) => Seq((a, AtMost, b), (b, AtLeast, a))
    case GreaterThan(a, b) => Seq((a, AtLeast, b), (b, AtMost, a))
    case GreaterThanOrEqual(a, b) => Seq((a, AtLeast, b), (b, AtMost, a))
    case _ => Nil
  }

  private[spark] def conjuncts(condition: Option[Expression]): Seq[Expression] = condition.toSeq.flatMap {
    case And(left, right) => conjuncts(Some(left)) ++ conjuncts(Some(right))
    case between: Between => conjuncts(Some(between.replacement))
    case With(child, definitions) =>
      val meant = definitions.map(each => each.id -> each.child).toMap
      conjuncts(Some(child.transform { case each: CommonExpressionRef => meant(each.id) }))
    case other => Seq(other)
  }

  /** A column, or one of a wider type. It is NULL just if the column is, so it also holds of rows that a join fills up. */
  private def isPlain(expression: Expression): Boolean = expression match {
    case _: Attribute => true
    case cast: Cast =>
      Cast.canUpCast(cast.child.dataType, cast.dataType) && ValueRanges.isOrdered(cast.child) && isPlain(cast.child)
    case _ => false
  }

  private def distinct(expressions: Seq[Expression]): Seq[Expression] = expressions.foldLeft(Seq.empty[Expression])((some, each) =>
    if (some.exists(_.semanticEquals(each))) some else some :+ each)
}
