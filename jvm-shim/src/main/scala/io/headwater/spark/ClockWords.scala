package io.headwater.spark

import java.time.ZoneOffset
import java.util.Locale

import scala.collection.mutable
import scala.util.Try

import org.antlr.v4.runtime.Token
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal, RuntimeReplaceable}
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.parser.ParserUtils
import org.apache.spark.sql.catalyst.parser.SqlBaseParser.TypeConstructorContext
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.DateTimeUtils._
import org.apache.spark.sql.execution.{SparkSqlAstBuilder, SparkSqlParser}
import org.apache.spark.sql.types._

/**
 * Words that stand for a moment of the clock: `DATE 'today'`, `TIMESTAMP 'now'`, `CAST('yesterday UTC' AS DATE)`.
 *
 * Spark's parser makes typed literals of them, and its optimizer folds casts of them, so no analysed plan has them any
 * more. They are noted while Spark parses a query, and with it the views and SQL functions that the query uses.
 */
private[spark] object ClockWords {
  private val noted = new ThreadLocal[mutable.LinkedHashSet[String]]

  /** What `analyse` gives, and the typed literals of this kind in all text that is parsed for it. */
  def during[T](analyse: => T): (T, Seq[String]) = {
    noted.set(mutable.LinkedHashSet.empty)
    try (analyse, noted.get.toSeq)
    finally noted.remove()
  }

  /** Notes the words in a text that Spark is about to parse, if anybody wants to know. */
  def note(parse: ParserInterface => Any): Unit =
    if (noted.get != null) Try(parse(new Noting)) // Spark says itself that it cannot parse a text.

  /** Casts of such words that Spark's optimizer folds. */
  def casts(analysed: LogicalPlan): Seq[String] =
    analysed.collectWithSubqueries { case node => node.expressions.flatMap(parts).collect { case Folded(text) => text } }
      .flatten.distinct

  private class Noting extends SparkSqlParser {
    override val astBuilder: SparkSqlAstBuilder = new SparkSqlAstBuilder {
      override def visitTypeConstructor(literal: TypeConstructorContext): Literal = {
        val value = ParserUtils.string(visit(literal.singleStringLitWithoutMarker).asInstanceOf[Token])
        if (is(value)) noted.get += s"${literal.literalType.getText.toUpperCase(Locale.ROOT)} '$value'"
        super.visitTypeConstructor(literal)
      }
    }
  }

  private object Folded {
    def unapply(expression: Expression): Option[String] = expression match {
      case cast @ Cast(child, DateType | TimestampType | TimestampNTZType, _, _)
          if child.dataType == StringType && child.foldable =>
        val value = Option(Try(replaced(child).eval()).getOrElse(null)).map(_.toString)
        value.filter(is).map(word => s"CAST('$word' AS ${cast.dataType.sql})")
      case _ => None
    }
  }

  /** The expression and everything in it, with what stands for calls that Spark replaces. */
  private def parts(expression: Expression): Seq[Expression] = expression match {
    case call: RuntimeReplaceable => parts(call.replacement)
    case other => other +: other.children.flatMap(parts)
  }

  private def replaced(expression: Expression): Expression =
    expression.transformUp { case call: RuntimeReplaceable => call.replacement }

  private def is(value: String): Boolean =
    !value.trim.toLowerCase(Locale.ROOT).startsWith("epoch") &&
      (convertSpecialTimestamp(value, ZoneOffset.UTC).nonEmpty || convertSpecialDate(value, ZoneOffset.UTC).nonEmpty)
}
