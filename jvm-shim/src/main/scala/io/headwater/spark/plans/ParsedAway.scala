package io.headwater.spark

import java.time.ZoneOffset
import java.util.Locale

import scala.collection.mutable
import scala.util.Try

import org.antlr.v4.runtime.Token
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView, ResolvedInlineTable}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.catalyst.optimizer.{FoldablePropagation, InlineCTE}
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.parser.ParserUtils
import org.apache.spark.sql.catalyst.parser.SqlBaseParser.{MultipartIdentifierContext, QueryContext, TableNameContext, TypeConstructorContext}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.catalyst.util.DateTimeUtils._
import org.apache.spark.sql.execution.{SparkSqlAstBuilder, SparkSqlParser}
import org.apache.spark.sql.headwater.Days
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Parts of a query that Spark replaces: words for a moment of the clock, and patterns of paths. */
private[spark] case class ParsedAway(clock: Seq[String], patterns: Seq[String], options: Seq[String])

/**
 * `DATE 'today'`, `TIMESTAMP 'now'`, `CAST('yesterday UTC' AS DATE)`; ``parquet.`/data/2024*` ``.
 *
 * Spark's parser makes literals of such words, its optimizer folds casts of them, and its analyser lists the directories
 * that a pattern matches now. So no analysed plan has them any more. They are noted while Spark parses a query, and with
 * it the views and SQL functions that the query uses.
 */
private[spark] object ParsedAway {
  private val words, paths, options = new ThreadLocal[mutable.LinkedHashSet[String]]

  /** The plan that `analyse` gives, and the parts that are replaced in all text that is parsed for it. */
  def during(analyse: => LogicalPlan): (LogicalPlan, ParsedAway) = {
    words.set(mutable.LinkedHashSet.empty)
    paths.set(mutable.LinkedHashSet.empty)
    options.set(mutable.LinkedHashSet.empty)
    try {
      val analysed = analyse
      (analysed, ParsedAway((words.get ++ casts(analysed)).toSeq, paths.get.toSeq, options.get.toSeq))
    } finally {
      words.remove()
      paths.remove()
      options.remove()
    }
  }

  /** Notes such parts of a text that Spark is about to parse, if anybody wants to know. */
  def note(parse: ParserInterface => Any): Unit =
    if (words.get != null) Try(parse(new Noting)) // Spark says itself that it cannot parse a text.

  /** Casts and calls that Spark's optimizer folds. */
  private def casts(analysed: LogicalPlan): Seq[String] = {
    val plan = propagated(analysed)
    def all(of: LogicalPlan): Seq[Expression] = of.collectWithSubqueries { case node => node.expressions.flatMap(parts) }.flatten
    val folded = (all(analysed) ++ all(plan)).collect { case Folded(text) => text; case Read(text) => text }
    if (all(plan).exists(isCastOfColumn)) folded ++ stated(plan) else folded
  }

  /** The plan with constants in the place of the columns that have them. */
  private def propagated(plan: LogicalPlan): LogicalPlan = {
    val below = EliminateSubqueryAliases(EliminateView(InlineCTE(alwaysInline = true)(plan)))
    FoldablePropagation(below).transformAllExpressions {
      case subquery: SubqueryExpression => subquery.withNewPlan(propagated(subquery.plan))
    }
  }

  private def isCastOfColumn(expression: Expression): Boolean = expression match {
    case cast @ Cast(child, _, _, _) => hasMoments(cast.dataType) && hasText(child.dataType) && !child.foldable
    case _ => false
  }

  /** Texts in the tables that a query states itself. No rule tells which of them come to a cast. */
  private def stated(plan: LogicalPlan): Seq[String] = plan.collectWithSubqueries {
    case local: LocalRelation => texts(local.data, ArrayType(local.schema))
    case inline: ResolvedInlineTable =>
      inline.rows.flatten.flatMap(each => texts(Try(replaced(each).eval()).getOrElse(null), each.dataType))
  }.flatten.filter(isMoment).map(word => s"CAST('$word' AS ${TimestampType.sql})")

  private class Noting extends SparkSqlParser {
    override val astBuilder: SparkSqlAstBuilder = new SparkSqlAstBuilder {
      override def visitTypeConstructor(literal: TypeConstructorContext): Literal = {
        val value = ParserUtils.string(visit(literal.singleStringLitWithoutMarker).asInstanceOf[Token])
        val kind = literal.literalType.getText.toUpperCase(Locale.ROOT)
        if ((kind.startsWith("DATE") || kind.startsWith("TIMESTAMP")) && isMoment(value)) words.get += s"$kind '$value'"
        super.visitTypeConstructor(literal)
      }

      private var depth = 0

      override def visitQuery(query: QueryContext): LogicalPlan = {
        if (depth == 0) words.get ++= EvaluatedAtOnce.in(query) // and all queries within
        depth += 1
        try super.visitQuery(query) finally depth -= 1
      }

      override def visitTableName(table: TableNameContext): LogicalPlan = {
        if (table.optionsClause != null) options.get += table.identifierReference.getText
        super.visitTableName(table)
      }

      override def visitMultipartIdentifier(name: MultipartIdentifierContext): Seq[String] = {
        val parts = super.visitMultipartIdentifier(name)
        if (parts.size == 2 && parts.last.exists(Pattern.contains(_))) paths.get += s"${parts.head}.`${parts.last}`"
        parts
      }
    }
  }

  /** What Hadoop's file systems take for a pattern. No table has such a name. */
  private val Pattern = "{}[]*?\\"

  private object Folded {
    def unapply(expression: Expression): Option[String] = expression match {
      case cast @ Cast(child, _, _, _) if hasMoments(cast.dataType) && hasText(child.dataType) && child.foldable =>
        texts(Try(replaced(child).eval()).getOrElse(null), child.dataType).find(isMoment)
          .map(word => s"CAST('$word' AS ${cast.dataType.sql})")
      case _ => None
    }
  }

  /** What a call reads from a constant in another notation. */
  private object Read {
    def unapply(expression: Expression): Option[String] = {
      val options = expression match {
        case json: JsonToStructs => Some(json.options)
        case csv: CsvToStructs => Some(csv.options)
        case xml: XmlToStructs => Some(xml.options)
        case _: VariantGet => Some(Map.empty[String, String])
        case Cast(child, _, _, _) if child.dataType == VariantType => Some(Map.empty[String, String])
        case _ => None
      }
      val asked = options.exists(each => !each.keys.exists(_.equalsIgnoreCase("timestampFormat")))
      if (!asked || !within(expression.dataType).contains(TimestampType) || !expression.children.head.foldable) None
      else Option(Try(replaced(expression.children.head).eval()).getOrElse(null)).toSeq
        .flatMap(text => Token.findAllIn(text.toString)).map(_.trim).find(isTime)
        .map(word => s"${expression.prettyName}('$word')")
    }
  }

  /** Characters of which the text of a moment consists. */
  private val Token = """[\w:.+/ -]+""".r

  /** The expression and everything in it, with what stands for calls that Spark replaces. */
  private def parts(expression: Expression): Seq[Expression] = expression match {
    case call: RuntimeReplaceable => parts(call.replacement)
    case other => other +: other.children.flatMap(parts)
  }

  private def replaced(expression: Expression): Expression =
    expression.transformUp { case call: RuntimeReplaceable => call.replacement }

  private def hasMoments(kind: DataType): Boolean =
    within(kind).exists(Set[DataType](DateType, TimestampType, TimestampNTZType)(_))

  private def hasText(kind: DataType): Boolean = within(kind).exists(_.isInstanceOf[StringType])

  private def within(kind: DataType): Seq[DataType] = kind match {
    case ArrayType(of, _) => within(of)
    case MapType(key, of, _) => within(key) ++ within(of)
    case StructType(fields) => fields.toSeq.flatMap(field => within(field.dataType))
    case other => Seq(other)
  }

  /** The texts in a value. */
  private def texts(value: Any, kind: DataType): Seq[String] = (value, kind) match {
    case (null, _) => Nil
    case (text, _: StringType) => Seq(text.toString)
    case (rows: Seq[_], ArrayType(of, _)) => rows.flatMap(texts(_, of))
    case (several: ArrayData, ArrayType(of, _)) => several.toSeq[Any](of).flatMap(texts(_, of))
    case (pairs: MapData, MapType(key, of, _)) => texts(pairs.keyArray, ArrayType(key)) ++ texts(pairs.valueArray, ArrayType(of))
    case (row: InternalRow, of: StructType) => row.toSeq(of).zip(of).flatMap { case (each, field) => texts(each, field.dataType) }
    case _ => Nil
  }

  /** Whether a text means a moment of the clock: a word such as `now`, or a time without a day, which takes today's. */
  def isMoment(value: String): Boolean = isTime(value) || isWord(value)

  private def isTime(value: String): Boolean = Days.isTime(UTF8String.fromString(value))

  private def isWord(value: String): Boolean =
    !value.trim.toLowerCase(Locale.ROOT).startsWith("epoch") &&
      (convertSpecialTimestamp(value, ZoneOffset.UTC).nonEmpty || convertSpecialDate(value, ZoneOffset.UTC).nonEmpty)
}
