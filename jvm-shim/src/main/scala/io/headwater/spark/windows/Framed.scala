package io.headwater.spark

import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.analysis.DeduplicateRelations
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * The rows of a query with a window function whose frames changes reach, computed from the rows in these frames.
 *
 * Example: `max(price) OVER (PARTITION BY symbol ORDER BY day RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT ROW)`. Of a
 * symbol and a day, each row has the same frame. So the days that changes reach are joined with the rows in their frames, and
 * the groups of that join have the values of the window function. A window computes the frame of each row, and of each symbol
 * it takes all days.
 *
 * Which queries are computed so is decided in Python (`headwater.algebra.derive.frames`). A query has one window.
 */
final class Framed(query: DataFrame) {
  import Framed._

  private val session = query.sparkSession
  private lazy val one = WindowOf(query)
  private lazy val (input, groups, order) = (one.input, one.groups, one.columns.last)
  private lazy val functions = one.window.windowExpressions.map {
    case alias @ Alias(WindowExpression(function: AggregateExpression, spec), _) => (alias, function, frame(spec))
    case other => throw new IllegalArgumentException(s"${other.sql} is no aggregate over a frame")
  }
  private lazy val frames = functions.map(_._3).distinct

  /** Whether no sum of a value and an offset turns from the greatest number to the least one. */
  def isExact: Boolean = Access.classic(session).withActive {
    order.dataType match {
      case ByteType | ShortType | IntegerType | LongType => SQLConf.get.ansiEnabled || frames.forall(_.isPlain)
      case _ => true
    }
  }

  /**
   * The keys of the rows in whose frames changed rows are, and the keys of these.
   * @param changed values of PARTITION BY and ORDER BY, in this order
   * @return null if there are too many to join them with the rows in their frames
   */
  def reached(changed: DataFrame): DataFrame = Access.classic(session).withActive {
    val most = if (frames.forall(_.hasEnds)) Dense else Running
    val found = KeyRows.distinct(session, changed.queryExecution.analyzed, Most).flatMap { keys =>
      val inside = frames.map(_.holds(order, keys.output.last))
      val rows = narrowed(input, groups, order, keys, _.back)
      val near = Join(rows, keys, LeftSemi, KeyRows.matched(groups, keys, inside), KeyRows.Broadcast)
      KeyRows.local(session, Distinct(Union(Seq(Project(groups :+ order, near), keys))), Most).map(each => keys.copy(data = each.data))
    }
    found.filter(densest(_) <= most).map(each => Access.frame(session)(each)).orNull
  }

  /**
   * The rows of the query, of which those with some keys are all there.
   * @param reached the keys, as `reached` found them
   */
  def rows(reached: DataFrame): DataFrame = Access.frame(session) {
    val keys = reached.queryExecution.analyzed.asInstanceOf[LocalRelation]
    val values = framed(keys)
    val own = narrowed(input, groups, order, keys, _ => Some(Frame.same))
    val mine = Join(own, keys, LeftSemi, KeyRows.matched(groups :+ order, keys), KeyRows.Broadcast)
    val joined = Join(mine, values, LeftOuter, KeyRows.matched(groups :+ order, values), KeyRows.Broadcast)
    val columns = functions.zip(values.output.drop(keys.output.size)).map { case ((alias, function, _), value) =>
      // Of a row with an empty frame there is no value.
      val known = function.aggregateFunction match {
        case _: Count => Coalesce(Seq(value, Literal(0L)))
        case _ => value
      }
      Alias(known, alias.name)(alias.exprId, alias.qualifier, alias.explicitMetadata)
    }
    val computed = Project(input.output ++ columns, joined)
    one.over(computed)
  }

  /** For each key the values of the functions over the rows in its frames. */
  private def framed(keys: LocalRelation): LogicalPlan = {
    val again = renewed(input)
    val columns = AttributeMap(input.output.zip(again.output))
    val own = keys.newInstance().asInstanceOf[LocalRelation]
    val (at, value) = (own.output.last, columns(order))
    val rows = narrowed(again, groups.map(columns), value, keys, _.around)
    val near = Join(rows, own, Inner, KeyRows.matched(groups.map(columns), own, frames.map(_.holds(at, value))), KeyRows.Broadcast)
    val values = functions.map { case (alias, function, frame) =>
      val moved = function.transform { case each: Attribute if columns.contains(each) => columns(each) }
      val over = Option.when(frames.size > 1)(frame.holds(at, value))
      // Spark tells results of one aggregate apart by this number.
      val one = moved.asInstanceOf[AggregateExpression].copy(filter = over, resultId = NamedExpression.newExprId)
      Alias(one, alias.name)()
    }
    Aggregate(own.output, own.output ++ values, near)
  }

  /**
   * The rows of a plan that may have some keys, so that Spark skips files and row groups.
   * @param ends of a frame: those of the rows, for those of the values of the keys
   */
  private def narrowed(
      plan: LogicalPlan, groups: Seq[Attribute], order: Attribute, keys: LocalRelation, ends: Frame => Option[Ends]): LogicalPlan = {
    val known = frames.map(ends)
    val columns = (groups :+ order).zip(keys.output).zipWithIndex.flatMap { case ((column, key), n) =>
      val values = keys.data.map(_.get(n, key.dataType))
      val own = if (n == groups.size) known else Seq(Some(Frame.same))
      def ranges = ValueRanges.split(values.filter(_ != null).distinct, key.dataType).flatMap { case (least, greatest) =>
        own.flatten.map { case (from, to) =>
          (fitting(from(Literal(least, key.dataType))), fitting(to(Literal(greatest, key.dataType))))
        }
      }
      val isKnown = ValueRanges.isOrdered(column) && values.forall(ValueRanges.isFound) && own.forall(_.nonEmpty)
      (if (isKnown) Try(ranges).toOption else None).map(ValueRanges.between(column, _)).map { between =>
        if (values.contains(null)) Or(IsNull(column), between) else between
      }
    }
    columns.reduceOption(And).fold(plan)(Filter(_, plan))
  }
}

private object Framed {

  /** With more keys, the window itself is computed. */
  private val Most = 100000

  /** With more keys of one partition of the window, too: each of its rows is compared with each of them. */
  private val Dense = 2000

  /** The same of frames that reach to the first or the last row. A window adds up each row of these once. */
  private val Running = 8

  /** The least and the greatest value of other rows, for those of some rows. */
  private type Ends = (Expression => Expression, Expression => Expression)

  /**
   * The rows between two values, as Spark finds them (`RangeBoundOrdering`).
   * @param lower what is added to the value of a row for the first one in its frame; none: there is no first one
   */
  private final case class Frame(lower: Option[End], upper: Option[End], order: SortOrder) {
    private val isDescending = order.direction == Descending
    private val (least, greatest) = if (isDescending) (upper, lower) else (lower, upper)

    def hasEnds: Boolean = lower.nonEmpty && upper.nonEmpty

    /** Whether nothing is added to a value. */
    def isPlain: Boolean = (lower ++ upper).forall(_.by.isEmpty)

    /** Whether a value is in the frame of a row. */
    def holds(row: Expression, value: Expression): Expression =
      (lower.map(end => follows(value, end.of(row))) ++ upper.map(end => follows(end.of(row), value))).reduce(And)

    /** Whether a value is not before another one in the order. */
    private def follows(value: Expression, other: Expression): Expression = {
      val known = if (isDescending) LessThanOrEqual(value, other) else GreaterThanOrEqual(value, other)
      if (order.nullOrdering == NullsFirst) Or(IsNull(other), And(IsNotNull(value), known))
      else Or(IsNull(value), And(IsNotNull(other), known))
    }

    /** The ends of the frames of rows; none if a frame has none. */
    def around: Option[Ends] = least.zip(greatest).map { case (from, to) => (from.of _, to.of _) }

    /** The ends of the rows in whose frames rows are; none if no addition leads back. */
    def back: Option[Ends] = least.zip(greatest).filter { case (from, to) => from.isExact && to.isExact }
      .map { case (from, to) => (to.back _, from.back _) }
  }

  private object Frame {
    val same: Ends = (identity[Expression] _, identity[Expression] _)
  }

  /** An end of a frame: a value, or the one of the row itself. */
  private final case class End(by: Option[Expression]) {
    def of(row: Expression): Expression = by.fold(row)(moved(row, _))
    def back(value: Expression): Expression = by.fold(value)(each => moved(value, UnaryMinus(each)))

    /** Whether what is added can be taken away again. */
    def isExact: Boolean = !by.exists(_.dataType.isInstanceOf[YearMonthIntervalType])
  }

  private def frame(spec: WindowSpecDefinition): Frame = {
    val order = spec.orderSpec.head
    def end(bound: Expression): Option[End] = bound match {
      case CurrentRow => Some(End(None))
      case UnboundedPreceding | UnboundedFollowing => None
      case by => Some(End(Some(if (order.direction == Descending) UnaryMinus(by) else by)))
    }
    spec.frameSpecification match {
      case SpecifiedWindowFrame(RangeFrame, lower, upper) => Frame(end(lower), end(upper), order)
      case _ => throw new IllegalArgumentException(s"no frame of values: ${spec.sql}")
    }
  }

  /** A value and an offset, as Spark adds them for the end of a frame (`WindowEvaluatorFactoryBase`). */
  private def moved(value: Expression, by: Expression): Expression = {
    def zone = Some(SQLConf.get.sessionLocalTimeZone)
    (value.dataType, by.dataType) match {
      case (DateType, IntegerType) => DateAdd(value, by)
      case (DateType, _: YearMonthIntervalType) => DateAddYMInterval(value, by)
      case (DateType, _: DayTimeIntervalType) => DateAdd(value, ExtractANSIIntervalDays(by))
      case (TimestampType | TimestampNTZType, _: YearMonthIntervalType) => TimestampAddYMInterval(value, by, zone)
      case (TimestampType | TimestampNTZType, _: DayTimeIntervalType) => TimestampAddInterval(value, by, zone)
      case (kind: DecimalType, _: DecimalType) => DecimalAddNoOverflowCheck(value, by, kind)
      case _ => Add(value, by)
    }
  }

  /** The value of an expression, which may be greater than the greatest one of its type. Then this fails. */
  private def fitting(expression: Expression): Any = (expression.eval(), expression.dataType) match {
    case (value: Decimal, kind: DecimalType) =>
      if (!value.clone().changePrecision(kind.precision, kind.scale)) throw new ArithmeticException(value.toString)
      value
    case (value, _) => value
  }

  /** The same plan with other numbers for all its columns. */
  private def renewed(plan: LogicalPlan): LogicalPlan = {
    val again = DeduplicateRelations(Join(plan, plan, Inner, None, JoinHint.NONE)).children(1)
    if (again.outputSet.intersect(plan.outputSet).isEmpty) again
    else Project(again.output.map(each => Alias(each, each.name)()), again)
  }

  /** The most keys with the same values of PARTITION BY. */
  private def densest(keys: LocalRelation): Int = {
    val columns = keys.output.init.map(_.dataType).zipWithIndex
    val counts = keys.data.groupBy(row => columns.map { case (kind, n) =>
      row.get(n, kind) match {
        case bytes: Array[Byte] => bytes.toSeq
        case other => other
      }
    })
    counts.values.map(_.size).maxOption.getOrElse(0)
  }
}
