package org.apache.spark.sql.headwater

import org.antlr.v4.runtime.{CharStreams, Token}
import org.apache.spark.sql.catalyst.parser._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.{SQLConf, VariableSubstitution}

/** The substitution of `:name` and `?` in the text of a statement. */
object Parameters {

  /** A parser that binds the parameters. Those of other extensions may forget them, so they are handed the values. */
  def bound(parser: ParserInterface, parameters: ParameterContext): String => LogicalPlan = parser match {
    case own: AbstractSqlParser => own.parsePlanWithParameters(_, parameters)
    case other => sql => {
      val whole = known(variables(sql), parameters)
      asItIs(other.parsePlanWithParameters(whole, parameters))
    }
  }

  /** The text with the values of variables such as `${name}`, as the session has Spark substitute them. */
  def variables(sql: String): String = new VariableSubstitution().substitute(sql)

  /** Parses a text without a look for variables: values of parameters are in it. */
  private def asItIs(parse: => LogicalPlan): LogicalPlan = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.VARIABLE_SUBSTITUTE_ENABLED, false)
    SQLConf.withExistingConf(conf)(parse)
  }

  /** The text with the values, as far as Spark's own grammar knows the statement. */
  private def known(sql: String, parameters: ParameterContext): String =
    try ParameterHandler.substituteParameters(sql, parameters)._1
    catch { case _: ParseException => sql }

  /**
   * The text of a statement that Spark's own grammar cannot parse. Spark's lexer finds the markers, and Spark's substitution
   * makes the text of each value.
   */
  def substitute(text: String, parameters: ParameterContext): String = {
    val sql = variables(text)
    val markers = find(sql)
    markers.zipWithIndex.foldRight(sql) { case (((start, end), n), text) =>
      text.substring(0, start) + value(sql.substring(start, end), n, parameters) + text.substring(end)
    }
  }

  private def value(marker: String, n: Int, parameters: ParameterContext): String = {
    val one = parameters match {
      case PositionalParameterContext(values) => PositionalParameterContext(values.slice(n, n + 1))
      case other => other
    }
    val select = "SELECT "
    ParameterHandler.substituteParameters(select + marker, one)._1.substring(select.length)
  }

  private def find(sql: String): Seq[(Int, Int)] = {
    val lexer = new SqlBaseLexer(CharStreams.fromString(sql))
    lexer.removeErrorListeners()
    val tokens = Iterator.continually(lexer.nextToken()).takeWhile(_.getType != Token.EOF).toIndexedSeq
    tokens.flatMap { token =>
      // The lexer counts code points.
      val start = sql.offsetByCodePoints(0, token.getStartIndex)
      token.getType match {
        case SqlBaseLexer.QUESTION => Some(start -> (start + 1))
        case SqlBaseLexer.COLON => Name.findPrefixOf(sql.substring(start + 1)).map(name => start -> (start + 1 + name.length))
        case _ => None
      }
    }
  }

  private val Name = """\w+""".r
}
