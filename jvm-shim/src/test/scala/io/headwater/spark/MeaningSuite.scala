package io.headwater.spark

import scala.reflect.runtime.currentMirror
import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}
import org.json4s.JsonAST.JNull
import org.json4s.jackson.JsonMethods.{compact, render}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Two calls that Spark tells apart have two descriptions, so two fingerprints. The calls are those of the examples of all
 * functions of Spark, and of what only the parser makes. Each part of a call that is no child gets other values.
 */
class MeaningSuite extends AnyFunSuite {
  private lazy val session = {
    val made = Access.classic(LocalSpark.session.newSession())
    Seq("spark.sql.timeType.enabled", "spark.sql.geospatial.enabled").foreach(made.conf.set(_, "true"))
    made
  }

  /** What the parser makes beside the functions that have names. */
  private val Parsed = Seq(
    "a LIKE ANY ('x%', 'y%')", "a NOT LIKE ANY ('x%')", "a LIKE ALL ('x%')", "a NOT LIKE ALL ('x%', 'z')", "a ILIKE 'x'",
    "a LIKE 'x!%' ESCAPE '!'", "a RLIKE 'x'", "CAST(a AS INT)", "CAST(a AS TIMESTAMP)", "TRY_CAST(a AS DATE)", "a :: BIGINT", "a COLLATE UTF8_LCASE",
    "sum(n) FILTER (WHERE n > 1)", "count(DISTINCT n)", "first(n) IGNORE NULLS OVER (ORDER BY n)",
    "lag(n) IGNORE NULLS OVER (PARTITION BY a ORDER BY n DESC NULLS LAST)", "nth_value(n, 2) OVER (ORDER BY n)",
    "sum(n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", "ntile(2) OVER (ORDER BY n)",
    "sum(n) OVER (ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY n DESC)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY n)",
    "listagg(a, ',') WITHIN GROUP (ORDER BY a DESC)", "mode() WITHIN GROUP (ORDER BY n DESC)",
    "EXTRACT(YEAR FROM d)", "TRIM(BOTH 'x' FROM a)", "OVERLAY(a PLACING 'y' FROM 1)", "POSITION('x' IN a)", "n IS DISTINCT FROM 2",
    "n BETWEEN 1 AND 2", "n IN (1, 2)", "(SELECT max(n) FROM t)", "if(n IN (SELECT 1), 1, 2)",
    "if(EXISTS (SELECT 1 WHERE n > 1), 1, 2)",
    "d + INTERVAL 1 DAY", "d - DATE '2020-01-01'", "CASE WHEN n > 1 THEN 'x' ELSE a END", "CASE n WHEN 1 THEN 2 END",
    "TIMESTAMPADD(DAY, 1, d)", "TIMESTAMPDIFF(DAY, d, d)", "transform(array(n), x -> x + 1)", "array(n)[0]", "map(a, n)['x']",
    "named_struct('f', n).f", "array(named_struct('f', n)).f", "-n", "n / 2", "n % 2", "n << 1", "~n", "NOT n > 1", "a || 'x'",
    "from_json(a, 'd DATE', map('dateFormat', 'dd/MM/yyyy'))", "from_csv(a, 'd INT', map('comment', '#'))", "to_json(struct(n))",
    "from_xml(a, 'd INT', map('mode', 'FAILFAST'))", "approx_count_distinct(n, 0.05)", "get_json_object(a, '$.b')",
    "max_by(a, n)", "any_value(n) IGNORE NULLS", "collect_list(n)", "hash(n)", "decode(a, 'x', 1)", "make_timestamp(1, 1, 1, 1, 1, 1)")

  /** `CAST` under other names, and functions of modules that are not there. */
  private val WithoutExamples = Set("bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "smallint", "string",
    "timestamp", "tinyint", "time", "from_avro", "from_protobuf", "schema_of_avro", "to_avro", "to_protobuf")

  /** Parts that say nothing of a query: a number that Spark gives anew, and how Spark splits the work. */
  private val Unmeant = Set("CommonExpressionDef.id", "CommonExpressionRef.id", "AggregateExpression.mode")

  /** The text of each example of a function, without what it gives. */
  private def examples(info: ExpressionInfo): Seq[String] =
    info.getExamples.split("  > ").tail.map(_.split(";\n").head.trim).toSeq

  private def analysed(sql: String): Option[LogicalPlan] =
    Try(session.withActive(session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(sql)).analyzed)).toOption

  private def calls(plan: LogicalPlan): Seq[Expression] =
    plan.collectWithSubqueries { case node => node.expressions.flatMap(_.collect { case each => each }) }.flatten

  private def reparse = new Reparse(session.sessionState.sqlParser, session.sessionState.analyzer)

  private def described(call: Expression, known: Reparse): String =
    compact(render(new PlanExpressions(new Numbering, known, _ => JNull)(call)))

  /** Other values for a part of a call. */
  private def others(part: Any): Seq[Any] = part match {
    case flag: Boolean => Seq(!flag)
    case number: Int => Seq(number + 1)
    case number: Long => Seq(number + 1)
    case number: Double => Seq(number + 0.25)
    case letter: Char => Seq((letter + 1).toChar)
    case text: String => Seq(text + "x", text + "#7", "UTC", "America/New_York")
    case text: UTF8String => Seq(UTF8String.concat(text, UTF8String.fromString("#7")))
    case interval: CalendarInterval => Seq(new CalendarInterval(interval.months + 1, interval.days, interval.microseconds))
    case bytes: Array[Byte] => Seq(bytes :+ 7.toByte)
    case StructType(fields) => Seq(StructType(fields :+ StructField("another", IntegerType)))
    case _: DataType => Seq(BooleanType, LongType, StringType, DateType, ArrayType(StringType, containsNull = false))
    case None => Seq(Some("x"), Some(7), Some(7L), Some(true), Some(IntegerType), Some(Literal(7)))
    case Some(each) => None +: others(each).map(Some(_))
    case pairs: Map[_, _] => Seq("comment" -> "x", "sep" -> "#7").map(pairs.asInstanceOf[Map[Any, Any]] + _)
    case several: Seq[_] =>
      val changed = several.headOption.toSeq.flatMap(first => others(first).map(_ +: several.tail))
      changed ++ (if (several.isEmpty) Seq(Seq("x"), Seq(UTF8String.fromString("x")), Seq(Literal(7))) else Seq(several.tail, several :+ several.head))
    case value: Enumeration#Value => value.getClass.getMethod("scala$Enumeration$$outerEnum").invoke(value) match {
      case all: Enumeration => all.values.toSeq.filterNot(_ == value)
    }
    case value: Enum[_] => value.getClass.getEnumConstants.toSeq.filterNot(_ == value)
    case (one, other) => others(one).map(_ -> other) ++ others(other).map(one -> _)
    case value: Literal => Seq(Literal(7), Literal("seven")).filterNot(_ == value)
    case value: Product if value.productArity == 0 => siblings(value)
    case value: Product if !value.isInstanceOf[Expression] && !value.isInstanceOf[LogicalPlan] => inside(value)
    case _ => Nil
  }

  /** The other cases of a sealed type: `Descending`, for `Ascending`. */
  private def siblings(value: Product): Seq[Any] = Try {
    val bases = currentMirror.moduleSymbol(value.getClass).moduleClass.asClass.baseClasses
    val cases = bases.filter(base => base.isClass && base.asClass.isSealed).flatMap(_.asClass.knownDirectSubclasses)
    cases.filter(_.isModuleClass).map(each => currentMirror.reflectModule(each.asClass.module.asModule).instance).filterNot(_ == value)
  }.getOrElse(Nil)

  private def inside(value: Product): Seq[Any] =
    value.productIterator.toSeq.zipWithIndex.flatMap { case (part, i) =>
      others(part).flatMap { other =>
        val parts = value.productIterator.toSeq.updated(i, other).map(_.asInstanceOf[AnyRef])
        value.getClass.getConstructors.toSeq.flatMap(made => Try(made.newInstance(parts: _*)).toOption)
      }
    }

  /** Calls of the same class with one other part, of those that can be made. */
  private def changed(call: Expression): Seq[(Int, Expression)] = {
    val parts = call.productIterator.toIndexedSeq
    for {
      (part, i) <- parts.zipWithIndex
      if !isChild(call, part) && !Unmeant(s"${call.getClass.getSimpleName}.${call.productElementName(i)}")
      other <- others(part)
      made <- Try(call.makeCopy(parts.updated(i, other).map(_.asInstanceOf[AnyRef]).toArray)).toOption
      if Try(made.canonicalized != call.canonicalized && made.canonicalized == made.canonicalized).getOrElse(false)
    } yield i -> made
  }

  private def isChild(call: Expression, part: Any): Boolean = part match {
    case each: Expression => call.children.exists(_ eq each)
    case Some(each) => isChild(call, each)
    case several: Seq[_] => several.nonEmpty && several.forall(isChild(call, _))
    case _ => false
  }

  private lazy val known: Seq[(String, Seq[LogicalPlan])] =
    FunctionRegistry.expressions.toSeq.sortBy(_._1).map { case (name, (info, _)) => name -> examples(info).flatMap(analysed) }

  private lazy val parsed: Seq[LogicalPlan] = Parsed.flatMap { text =>
    val found = analysed(s"WITH t AS (SELECT * FROM VALUES ('x', 1, DATE '2020-01-01') AS t(a, n, d)) SELECT $text AS c FROM t")
    assert(found.isDefined, text)
    found
  }

  private lazy val all: Seq[Expression] =
    (known.flatMap(_._2) ++ parsed).flatMap(calls).filter {
      case _: NamedExpression | _: Literal => false
      case _ => true
    }.groupBy(call => call.getClass.getName).toSeq.sortBy(_._1).flatMap(_._2.distinctBy(_.canonicalized).take(3))

  test("each function of Spark has an example that can be analysed") {
    assert(known.filter(_._2.isEmpty).map(_._1).toSet == WithoutExamples)
    assert(all.map(_.getClass).distinct.size > 450)
  }

  test("calls that differ beside their children have two descriptions") {
    val reads = reparse
    val found = all.flatMap(call => changed(call).map { case (part, other) => (call, part, other) })
    val same = found.filter { case (call, _, other) => described(call, reads) == described(other, reads) }.map { case (call, part, other) =>
      s"${call.getClass.getSimpleName}.${call.productElementName(part)}: ${call.productElement(part)} and ${other.productElement(part)}"
    }
    assert(found.size > 900)
    assert(same.distinct.isEmpty, same.distinct.mkString("\n", "\n", "\n"))
  }

  test("a call is described alike at each analysis") {
    def texts(plan: LogicalPlan) = calls(plan).map(described(_, reparse))
    val other = for {
      (name, plans) <- known
      first <- plans.headOption if calls(first).forall(_.deterministic)
      again <- examples(FunctionRegistry.expressions(name)._1).iterator.flatMap(analysed(_)).nextOption()
      if texts(first) != texts(again)
    } yield name
    assert(other.isEmpty)
  }

  test("a call whose text another call has stands alone for itself only") {
    val (reads, column) = (reparse, AttributeReference("a", StringType)())
    val casts = Seq(EvalMode.ANSI, EvalMode.LEGACY).map(Cast(column, IntegerType, Some("UTC"), _))
    for (order <- Seq(casts, casts.reverse))
      assert(order.map(described(_, reads).contains("standalone")) == order.map(_.evalMode == EvalMode.ANSI))
  }
}
