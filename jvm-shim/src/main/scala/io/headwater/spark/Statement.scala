package io.headwater.spark

import java.util.regex.Pattern

/** Recognises, by their leading words, the statements that Spark's grammar lacks. */
object Statement {

  sealed trait Recognised

  /** A statement that goes whole to the engine, which parses it. */
  final case class Own(kind: StatementKind) extends Recognised

  /** `CREATE OR REPLACE MATERIALIZED VIEW`, with `OR REPLACE` blanked so that positions stay. */
  final case class CreateOrReplace(stripped: String) extends Recognised

  // Blanks and comments before and between words. Quantifiers are possessive: a word never starts like a
  // gap, and Java's matcher would otherwise recurse once for each blank line above a statement.
  private val Gap = """(?:\s++|--[^\n]*+(?:\n|$)|/\*(?s:.*?)\*/)"""

  private def words(all: String*): Pattern =
    Pattern.compile(s"^$Gap*+" + all.mkString(s"$Gap++") + """(?=\W|$)""", Pattern.CASE_INSENSITIVE)

  // `EXPLAIN` of Spark's own `REFRESH TABLE t`, `REFRESH FUNCTION f` and `REFRESH '/path'` stays Spark's.
  private val NotSparks = s"""(?!$Gap*+(?:['"]|(?:TABLE|FUNCTION)$Gap++\\S))"""

  private val kinds: Seq[(Pattern, StatementKind)] = Seq(
    words("REFRESH", "MATERIALIZED", "VIEWS") -> StatementKind.Drain,
    words("REFRESH", "MATERIALIZED", "VIEW") -> StatementKind.Refresh,
    words("SHOW", "MATERIALIZED", "VIEWS") -> StatementKind.ShowViews,
    words("SHOW", "REFRESHES") -> StatementKind.ShowRefreshes,
    words("DESC(?:RIBE)?", "MATERIALIZED", "VIEW") -> StatementKind.Describe,
    words("EXPLAIN", "REFRESH" + NotSparks) -> StatementKind.Explain,
    words("ALTER", "MATERIALIZED", "VIEW") -> StatementKind.Alter,
    words("DROP", "MATERIALIZED", "VIEW") -> StatementKind.Drop)

  private val replace =
    Pattern.compile(s"^$Gap*+CREATE$Gap++(OR$Gap++REPLACE)$Gap++MATERIALIZED$Gap++VIEW\\b", Pattern.CASE_INSENSITIVE)

  def recognise(sql: String): Option[Recognised] = {
    val create = replace.matcher(sql)
    if (create.find()) {
      val blank = " " * (create.end(1) - create.start(1))
      Some(CreateOrReplace(sql.substring(0, create.start(1)) + blank + sql.substring(create.end(1))))
    } else {
      kinds.collectFirst { case (pattern, kind) if pattern.matcher(sql).find() => Own(kind) }
    }
  }
}
