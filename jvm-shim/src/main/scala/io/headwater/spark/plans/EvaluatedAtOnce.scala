package io.headwater.spark

import java.util.Locale

import org.antlr.v4.runtime.tree.{ParseTree, TerminalNode}
import org.apache.spark.sql.catalyst.parser.SqlBaseParser._

/**
 * Calls of the clock where Spark puts their values into the analysed plan: the arguments of a table function, the values of a
 * `PIVOT`, the name in `IDENTIFIER(…)`, and casts of constants in a table of `VALUES`.
 *
 * Example: of `range(unix_date(current_date()), 20000)`, the plan has two numbers.
 */
private[spark] object EvaluatedAtOnce {
  private val Moments = Set(
    "current_date", "curdate", "current_timestamp", "now", "localtimestamp", "current_time", "localtime")
  private val Users = Set("current_user", "user", "session_user")

  /** The text of each such part below a node of the parser's tree, as Spark would have it if it kept it. */
  def in(tree: ParseTree): Seq[String] = tree match {
    case values: PivotValueContext => told(values, bare = Moments ++ Users)
    case call: FunctionTableContext => told(call, bare = Moments)
    case name: IdentifierReferenceContext => told(name.expression, bare = Moments ++ Users)
    case name: FunctionNameContext => told(name.expression, bare = Moments ++ Users)
    case table: InlineTableContext => cast(table, within = false)
    case other => below(other).flatMap(in)
  }

  /** @param bare words that mean a moment, or a user, also without parentheses: no column can be there */
  private def told(tree: ParseTree, bare: Set[String]): Seq[String] =
    if (tree == null) Nil else calls(tree, bare) ++ cast(tree, within = false)

  private def calls(tree: ParseTree, bare: Set[String]): Seq[String] = tree match {
    case call: FunctionCallContext if isOfNoText(call) => Seq(s"${call.functionName.getText.toLowerCase(Locale.ROOT)}()")
    case word: TerminalNode if bare(word.getText.toLowerCase(Locale.ROOT)) => Seq(s"${word.getText.toLowerCase(Locale.ROOT)}()")
    case other => below(other).flatMap(calls(_, bare))
  }

  private def isOfNoText(call: FunctionCallContext): Boolean = {
    val name = call.functionName.getText.toLowerCase(Locale.ROOT)
    Moments(name) || Users(name) || (name == "unix_timestamp" && call.functionArgument().isEmpty)
  }

  /** Texts within casts and calls that mean a moment of the clock. */
  private def cast(tree: ParseTree, within: Boolean): Seq[String] = tree match {
    case text: StringLitContext if within =>
      Seq(text.singleStringLit.stream.map[String](each => unquoted(each.getText)).toArray.mkString)
        .filter(ParsedAway.isMoment).map(word => s"CAST('$word' AS TIMESTAMP)")
    case _: CastContext | _: CastByColonContext | _: FunctionCallContext => below(tree).flatMap(cast(_, within = true))
    case other => below(other).flatMap(cast(_, within))
  }

  private def unquoted(text: String): String =
    if (text.length > 1 && (text.head == '\'' || text.head == '"')) text.substring(1, text.length - 1) else text

  private def below(tree: ParseTree): Seq[ParseTree] =
    if (tree == null) Nil else (0 until tree.getChildCount).map(tree.getChild)
}
