package io.headwater.spark

import java.time.LocalDateTime

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.JsonAST._

/** Numbers for what Spark numbers anew at each analysis: attributes and CTEs, in order of first appearance. */
private[spark] final class Numbering {
  private val attributesSeen = mutable.LinkedHashMap.empty[ExprId, JValue]
  private val numbers = mutable.Map.empty[ExprId, Int]
  private val ctes = mutable.Map.empty[Long, Int]
  private val common = mutable.Map.empty[CommonExpressionId, Int]

  def of(named: NamedExpression): Int = numbers.getOrElseUpdate(named.exprId, {
    attributesSeen(named.exprId) = JObject(
      "id" -> JInt(numbers.size),
      "name" -> JString(stable(named.name)),
      "type" -> JString(Try(named.dataType.sql).getOrElse("")))
    numbers.size
  })

  def ofCte(id: Long): Int = ctes.getOrElseUpdate(id, ctes.size)

  def ofCommon(id: CommonExpressionId): Int = common.getOrElseUpdate(id, common.size)

  def attributes: JValue = JArray(attributesSeen.values.toList)

  /** Names that Spark generates may hold an expression id. */
  def stable(text: String): String =
    text.replaceAll("#\\d+L?", "").replaceAll("_gen_alias_\\d+", "_gen_alias")
}

/** Expressions as JSON. A call's `sql` is a template over its arguments, `` `$0` ``, `` `$1` ``, .... */
private[spark] final class PlanExpressions(
    numbering: Numbering, reparse: Reparse, plan: LogicalPlan => JValue) {

  def list(expressions: Seq[Expression]): JValue = JArray(expressions.map(apply).toList)

  def apply(expression: Expression): JValue = expression match {
    case Alias(child, name) =>
      val id = numbering.of(expression.asInstanceOf[NamedExpression])
      JObject("alias" -> JString(numbering.stable(name)), "id" -> JInt(id), "child" -> apply(child))
    case OuterReference(attribute) =>
      JObject("attr" -> JInt(numbering.of(attribute)), "outer" -> JBool(true))
    case attribute: Attribute => JObject("attr" -> JInt(numbering.of(attribute)))
    case variable: NamedLambdaVariable => JObject("attr" -> JInt(numbering.of(variable)))
    case literal: Literal =>
      JObject("lit" -> JString(Try(Spelling.sql(literal)).getOrElse(literal.toString)), "type" -> typeOf(literal))
    case subquery: SubqueryExpression =>
      JObject(common(subquery, "subquery", Nil) :+ ("plan" -> plan(subquery.plan)): _*)
    case replaced: InheritAnalysisRules => apply(replaced.child)
    case aggregate: AggregateExpression => aggregated(aggregate)
    case other =>
      JObject(common(other, kind(other), other.children) ++ meaning(other): _*)
  }

  /** How the call can be written as SQL: as its own text, or (over literals only) as its value. */
  private def meaning(e: Expression): Option[JField] =
    if (kind(e) != "scalar") None
    else if (reparse.standsAlone(e, beside(e))) Some("standalone" -> JBool(true))
    else if (e.children.nonEmpty && e.children.forall(_.isInstanceOf[Literal]) && e.deterministic)
      Try(Spelling.sql(Literal.create(e.eval(), e.dataType))).toOption.filter(Spelling.isFixed(e.dataType, _))
        .map("value" -> JString(_))
    else None

  private def aggregated(aggregate: AggregateExpression): JValue = {
    val function = aggregate.aggregateFunction
    val filter = aggregate.filter.map(each => "filter" -> apply(each))
    val distinct = if (aggregate.isDistinct) Some("distinct" -> JBool(true)) else None
    JObject(common(function, "aggregate", function.children) ++ filter ++ distinct: _*)
  }

  private def common(e: Expression, kind: String, arguments: Seq[Expression]): List[JField] = List(
    "call" -> JString(e.getClass.getSimpleName),
    "name" -> JString(e.prettyName),
    "kind" -> JString(kind),
    "sql" -> JString(template(e)),
    "args" -> list(arguments),
    "type" -> typeOf(e),
    "deterministic" -> JBool(deterministic(e))) ++
    Option(beside(e)).filter(_.arr.nonEmpty).map("beside" -> _)

  /** What a call has beside its children: types, options, patterns, flags. All that a class is made of, so that none is left out. */
  private def beside(e: Expression): JArray =
    JArray(e.productIterator.filterNot(isChild(e, _)).map(Beside(numbering, e.children, _)).toList)

  private def isChild(e: Expression, part: Any): Boolean = part match {
    case each: Expression => e.children.exists(_ eq each)
    case several: Seq[_] => several.nonEmpty && several.forall(isChild(e, _)) // `coalesce` has all its children in one part
    case _ => false
  }

  private def kind(expression: Expression): String = expression match {
    case _: WindowExpression | _: WindowFunction | _: WindowSpecDefinition => "window"
    case _: Generator => "generator"
    case _: UserDefinedExpression => "function"
    case _ => "scalar"
  }

  private def deterministic(expression: Expression): Boolean = expression match {
    case replaceable: RuntimeReplaceable =>
      Try(replaceable.replacement.deterministic).getOrElse(true) && expression.deterministic
    case _ => expression.deterministic
  }

  /** The call over placeholders; where it takes no placeholder, its whole text over numbered attributes. */
  private def template(e: Expression): String = e match {
    case subquery: SubqueryExpression => s"${subquery.prettyName}()"
    case definition: CommonExpressionDef => s"common${numbering.ofCommon(definition.id)}(`$$0`)"
    case reference: CommonExpressionRef => s"common${numbering.ofCommon(reference.id)}"
    case _ => overPlaceholders(e)
  }

  private def overPlaceholders(e: Expression): String =
    try numbering.stable(reparse.shape(e, literals = false).sql)
    catch {
      case NonFatal(_) =>
        val numbered = e.transform { case each: Attribute =>
          AttributeReference(s"$$a${numbering.of(each)}", each.dataType)(exprId = each.exprId)
        }
        numbering.stable(Try(numbered.sql).getOrElse(e.prettyName))
    }

  private def typeOf(expression: Expression): JValue =
    JString(Try(expression.dataType.sql).getOrElse(""))
}

/** Literals as SQL that means the same under all settings of Spark's parser. */
private[spark] object Spelling {

  def sql(literal: Literal): String = fixed(literal).sql

  /**
   * A string with a backslash, a quote or a dollar as a cast of its bytes: what these mean in a text is a setting. A moment
   * that the clock of the session shows as it shows another one, by its number.
   */
  def fixed(literal: Literal): Expression = literal match {
    case Literal(micros: Long, TimestampType) if isShownTwice(micros) => MicrosToTimestamp(Literal(micros))
    case Literal(text: UTF8String, StringType) if !text.isValid || text.toString.exists(Awkward) =>
      Cast(Literal(text.getBytes, BinaryType), StringType)
    case other => other
  }

  /** Whether the text of a literal of this type is one that no setting changes, and that no other literal has. */
  def isFixed(kind: DataType, text: String): Boolean =
    kind == StringType || !text.exists(Unfixed) && (kind == TimestampType || !text.contains("TIMESTAMP '"))

  /** At the end of summer time a clock shows an hour twice. */
  private def isShownTwice(micros: Long): Boolean = {
    val zone = DateTimeUtils.getZoneId(SQLConf.get.sessionLocalTimeZone)
    zone.getRules.getValidOffsets(LocalDateTime.ofInstant(DateTimeUtils.microsToInstant(micros), zone)).size > 1
  }

  private val Awkward = Set('\\', '\'', '$')
  private val Unfixed = Set('\\', '$', '\uFFFD', '@') // the last one: a value without a text of its own has its address
}

/** Whether a call's SQL text, read again by Spark, is that call again: the text may then stand for it. */
private[spark] final class Reparse(parser: ParserInterface, analyzer: Analyzer) {
  private val known = mutable.Map.empty[(String, String, Seq[DataType], JArray), Boolean]

  /** The call with its arguments replaced by the columns `$0`, `$1`, ... */
  def shape(e: Expression, literals: Boolean): Expression =
    if (e.children.isEmpty) e
    else e.withNewChildren(e.children.zipWithIndex.map {
      case (literal: Literal, _) if literals => Spelling.fixed(literal)
      case (child, i) => AttributeReference(s"$$$i", child.dataType, child.nullable)()
    })

  /** Two calls of one text may differ beside their arguments: a cast of a view that was declared without ANSI does. */
  def standsAlone(e: Expression, beside: JArray): Boolean =
    try {
      e.deterministic && {
        val shaped = shape(e, literals = true)
        val key = (e.getClass.getName, shaped.sql, e.children.map(_.dataType), beside)
        known.getOrElseUpdate(key, reads(shaped.sql, shaped))
      }
    } catch { case NonFatal(_) => false }

  private def reads(sql: String, shaped: Expression): Boolean = {
    val columns = shaped.children.collect { case column: AttributeReference => column }
    val asked = Project(Seq(Alias(parser.parseExpression(sql), "it")()), LocalRelation(columns))
    analyzer.execute(asked) match {
      case Project(Seq(Alias(read, _)), _: LocalRelation) =>
        read.resolved && read.dataType == shaped.dataType && read.canonicalized == shaped.canonicalized
      case _ => false
    }
  }
}

/** A part of an expression as JSON that is equal at each analysis. A part that is a child has its position. */
private[spark] object Beside {
  private val Simple = Set("java.lang.", "java.time.", "java.math.", "scala.math.", "scala.Enumeration", "scala.Symbol")

  def apply(numbering: Numbering, children: Seq[Expression], part: Any): JValue = {
    def of(value: Any): JValue = value match {
      case null | None => JNull
      case Some(each) => JArray(List(of(each)))
      case child: Expression if children.exists(_ eq child) => JObject("child" -> JInt(children.indexWhere(_ eq child)))
      case column: NamedExpression if column.resolved => JObject("attr" -> JInt(numbering.of(column)))
      case other: Expression => JObject("of" -> JString(other.getClass.getName), "parts" -> JArray(other.productIterator.map(of).toList))
      case id: CommonExpressionId => JInt(numbering.ofCommon(id))
      case _: LogicalPlan | _: ExprId => JNull // a subquery's plan is described; numbers of Spark change
      case kind: DataType => JString(kind.json)
      case text: String => JString(text)
      case text: UTF8String => JString(text.toString)
      case pairs: scala.collection.Map[_, _] => // no object of JSON: its names would be a user's words
        JArray(SortedMap.from(pairs.map { case (key, each) => key.toString -> of(each) }).toList.map { case (key, each) =>
          JArray(List(JString(key), each))
        })
      case several: scala.collection.Set[_] => JArray(several.toSeq.map(of).sortBy(_.toString).toList)
      case several: Iterable[_] => JArray(several.map(of).toList)
      case several: Array[_] => JArray(several.map(of).toList)
      case one: Class[_] => JString(one.getName)
      case one: Product => JObject("of" -> JString(one.getClass.getName), "parts" -> JArray(one.productIterator.map(of).toList))
      case one if Simple.exists(one.getClass.getName.startsWith) || one.getClass.isEnum => JString(one.toString)
      case one => JString(one.getClass.getName.replaceAll("\\$Lambda.*", "")) // its own text may have its address
    }
    of(part)
  }
}
