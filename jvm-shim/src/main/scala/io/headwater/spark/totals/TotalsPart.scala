package io.headwater.spark

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType, IntegerType, LongType}

/** A column of totals: its value for a group of rows, and how it is put together of several. */
private[spark] final case class TotalsPart(name: String, value: AggregateExpression, kind: TotalsPart.Kind) {
  import TotalsPart._

  private val alias = Alias(value, name)()

  def column: NamedExpression = alias

  def isExtreme: Boolean = kind.isInstanceOf[Extreme]

  /** What is taken of the totals of a group from all sides. */
  def taken(columns: Map[String, Attribute]): Seq[NamedExpression] = {
    val own = columns(name)
    def where(condition: Expression): Expression = If(condition, own, Literal(null, own.dataType))
    val came = GreaterThan(columns(StandIns.Weight), Literal(0))
    kind match {
      case adding: Adding =>
        val unknown = adding.count.map(each => Alias(lost(own, columns(each)), s"$name lost")())
        Alias(adding.sum(If(came, own, adding.minus(own))), name)() +: unknown.toSeq
      case Toggling => Seq(Alias(BitXorAgg(own).toAggregateExpression(), name)())
      case Exact => Seq(Alias(ExactTotal(own, came).toAggregateExpression(), name)())
      case Extreme(least) =>
        def of(value: Expression) = (if (least) Min(value) else Max(value)).toAggregateExpression()
        Seq(
          Alias(of(where(came)), name)(),
          Alias(of(where(EqualTo(columns(StandIns.Weight), Literal(StandIns.Came)))), s"$name came")(),
          Alias((if (least) Min(where(Not(came))) else Max(where(Not(came)))).toAggregateExpression(), s"$name went")())
    }
  }

  /** The new value; it fails where nobody knows. */
  def checked(taken: Map[String, Attribute]): NamedExpression = {
    val now = taken(name)
    Alias(kind match {
      case Adding(None, _) => If(LessThan(now, Literal(0L)), failed("more rows went than there were"), now)
      case adding @ Adding(Some(count), _) =>
        val sum = adding.as(now, value.dataType)
        val unknown = Or(taken(s"$name lost"), And(IsNull(sum), GreaterThan(taken(count), Literal(0L))))
        If(unknown, failed("a sum is too large"), sum)
      case Toggling | Exact => now
      case Extreme(_) =>
        val known = If(wentLast(taken), failed("the least or greatest value of a group went"), now)
        If(EqualTo(taken(Rows), Literal(0L)), Literal(null, value.dataType), known)
    }, name)()
  }

  /** Whether a group with rows lost its least or greatest value; none if this part is no extreme. */
  def unknown(taken: Map[String, Attribute]): Option[Expression] = kind match {
    case Extreme(_) => Some(And(GreaterThan(taken(Rows), Literal(0L)), wentLast(taken)))
    case _ => None
  }

  /** Whether the value went that is the extreme of all: another row may have it, but totals do not tell. */
  private def wentLast(taken: Map[String, Attribute]): Expression = {
    val now = taken(name)
    And(EqualTo(taken(s"$name went"), now), Not(EqualNullSafe(taken(s"$name came"), now)))
  }

  /** The part for all rows of a group, by the totals of which each has some of them. */
  def together(columns: Map[String, Attribute]): NamedExpression = {
    val own = columns(name)
    Alias(kind match {
      case adding @ Adding(None, _) => Coalesce(Seq(adding.sum(own), Literal(0L)))
      case adding @ Adding(Some(count), _) =>
        If(lost(own, columns(count)), Literal(null, value.dataType), adding.as(adding.sum(own), value.dataType))
      case Toggling => BitXorAgg(own).toAggregateExpression()
      case Exact => ExactTotal(own, Literal.TrueLiteral).toAggregateExpression()
      case Extreme(least) => (if (least) Min(own) else Max(own)).toAggregateExpression()
    }, name)()
  }

  private def failed(why: String): Expression = Cast(new RaiseError(Literal(why)), value.dataType)
}

private[spark] object TotalsPart {

  /** How a part is put together of several. */
  sealed trait Kind

  /**
   * It is added; a sum of values has `count`, the part that counts those that are not NULL. A sum that is too large is what
   * it is for the function: an ordinary view adds as the session that made it said, with ANSI or without.
   */
  final case class Adding(
      count: Option[String] = None, context: NumericEvalContext = NumericEvalContext.fromSQLConf(SQLConf.get)) extends Kind {
    def sum(of: Expression): Expression = Sum(of, context).toAggregateExpression()
    def minus(of: Expression): Expression = UnaryMinus(of, context.evalMode == EvalMode.ANSI)
    def as(of: Expression, kind: DataType): Expression = Cast(of, kind, None, context.evalMode)
  }

  /** Its bits are toggled by the rows that come, and once more when these go. */
  case object Toggling extends Kind

  /** It is an exact sum. What goes is taken away, and nothing is rounded. */
  case object Exact extends Kind
  final case class Extreme(least: Boolean) extends Kind

  /** The part that counts the rows of a group. */
  val Rows = "rows"

  def rows: TotalsPart = TotalsPart(Rows, Count(Literal(1)).toAggregateExpression(), Adding())

  /** The parts of the `n`th function. */
  def of(function: AggregateExpression, n: Int): Seq[TotalsPart] = {
    // Spark tells results of one aggregate apart by this number.
    def same(of: AggregateFunction) =
      function.copy(aggregateFunction = of, isDistinct = false, resultId = NamedExpression.newExprId)
    def counted(x: Expression, name: String = "count") = TotalsPart(s"$name$n", same(Count(x)), Adding())
    def summed(x: Expression, in: NumericEvalContext) =
      Seq(counted(x), TotalsPart(s"sum$n", same(Sum(x, in)), Adding(Some(s"count$n"), in)))
    def exact(x: Expression) = TotalsPart(exactly(n), same(ExactSum(Cast(x, DoubleType))), Exact)
    function.aggregateFunction match {
      case Sum(x, _) if isFloating(x) => Seq(counted(x), exact(x))
      case Average(x, _) if isAddedAsDouble(x) => Seq(counted(x), exact(x))
      case moments: CentralMomentAgg =>
        Seq(counted(moments.child), exact(moments.child),
          TotalsPart(s"squares$n", same(ExactSum(moments.child, squared = true)), Exact))
      case Sum(x, context) => summed(x, context)
      case Average(x, mode) => summed(x, NumericEvalContext.fromSQLConf(SQLConf.get).copy(evalMode = mode))
      case _: Count => Seq(TotalsPart(s"count$n", same(function.aggregateFunction), Adding()))
      case CountIf(x) => Seq(counted(ifTrue(x)))
      case BoolAnd(x) => Seq(counted(x), counted(ifTrue(x), "true"))
      case BoolOr(x) => Seq(counted(x), counted(ifTrue(x), "true"))
      case BitXorAgg(x) => Seq(counted(x), TotalsPart(s"xor$n", same(BitXorAgg(x)), Toggling))
      case _: Min => Seq(TotalsPart(s"extreme$n", same(function.aggregateFunction), Extreme(least = true)))
      case _: Max => Seq(TotalsPart(s"extreme$n", same(function.aggregateFunction), Extreme(least = false)))
      case other => throw new IllegalArgumentException(s"${other.prettyName} has no totals")
    }
  }

  /** The column with the `n`th function, if it takes each value once. */
  def once(n: Int): String = s"once$n"

  /** The value of the `n`th function by the totals of whole groups. */
  def value(function: AggregateExpression, n: Int, totals: Map[String, Attribute]): Expression = {
    lazy val count = totals(s"count$n")
    if (DistinctValues.takesOnce(function)) totals(once(n)) else function.aggregateFunction match {
      case Sum(x, _) if isFloating(x) => nullIfNone(ExactAsDouble(totals(exactly(n))), count)
      case _: Sum => nullIfNone(totals(s"sum$n"), count)
      case average: Average =>
        val Seq(sum, number) = average.aggBufferAttributes
        val known = if (isAddedAsDouble(average.child)) ExactAsDouble(totals(exactly(n))) else Cast(totals(s"sum$n"), sum.dataType)
        nullIfNone(evaluated(average, sum -> known, number -> count), count)
      case moments: CentralMomentAgg =>
        val Seq(number, _, second) = moments.aggBufferAttributes
        val deviation = ExactDeviation(totals(exactly(n)), totals(s"squares$n"), count)
        evaluated(moments, number -> Cast(count, number.dataType), second -> deviation)
      case _: Count | _: CountIf => count
      case _: BoolAnd => nullIfNone(EqualTo(totals(s"true$n"), count), count)
      case _: BoolOr => nullIfNone(GreaterThan(totals(s"true$n"), Literal(0L)), count)
      case _: BitXorAgg => nullIfNone(totals(s"xor$n"), count)
      case _ => totals(s"extreme$n")
    }
  }

  /** The result of a function by the values of its buffer. */
  private def evaluated(function: DeclarativeAggregate, known: (AttributeReference, Expression)*): Expression = {
    val values = known.map { case (column, value) => column.exprId -> value }.toMap
    function.evaluateExpression.transform { case each: AttributeReference if values.contains(each.exprId) => values(each.exprId) }
  }

  private def isFloating(x: Expression): Boolean = x.dataType == FloatType || x.dataType == DoubleType

  /** Whether Spark adds values up as floating point for their average. */
  private def isAddedAsDouble(x: Expression): Boolean = isFloating(x) || x.dataType == LongType

  /** The column with the exact sum of the `n`th function. */
  private def exactly(n: Int): String = s"exact$n"

  /** Whether some sum was too large, among several of which each adds so many values. */
  private def lost(sum: Expression, count: Expression): AggregateExpression =
    Max(And(IsNull(sum), GreaterThan(count, Literal(0L)))).toAggregateExpression()

  private def ifTrue(x: Expression): Expression = If(x, Literal(1), Literal(null, IntegerType))

  private def nullIfNone(value: Expression, count: Expression): Expression =
    If(EqualTo(count, Literal(0L)), Literal(null, value.dataType), value)
}
