package io.headwater.spark

import java.util.regex.Pattern

import scala.annotation.tailrec

/**
 * Comments before and between the first words of a statement. They end where Spark's end: those in brackets nest, a
 * bracket with `+` begins a hint, and one after two dashes goes on behind a backslash and a newline. The engine skips the
 * same in front of a statement (`headwater.spark.statements.comments`).
 */
private[spark] object Comments {
  private val Line = Pattern.compile("""--(?:\\\n|[^\r\n])*+""")
  private val Bracket = Pattern.compile("""/\*(?!\+)|\*/""")

  /** The statement with blanks in place of its comments, up to the first sign that belongs to no word. */
  def blanked(sql: String): String = {
    val text = new java.lang.StringBuilder(sql)

    @tailrec def from(at: Int): Unit = {
      val after = end(sql, at)
      if (after > at) {
        (at until after).foreach(text.setCharAt(_, ' '))
        from(after)
      } else if (at < sql.length && isOfWords(sql.charAt(at))) from(at + 1)
    }

    from(0)
    text.toString
  }

  private def isOfWords(sign: Char): Boolean =
    Character.isWhitespace(sign) || Character.isLetterOrDigit(sign) || sign == '_'

  /** Where the comment that begins here ends; this place if none begins here. */
  private def end(sql: String, at: Int): Int =
    if (sql.startsWith("--", at)) {
      val line = Line.matcher(sql).region(at, sql.length)
      if (line.lookingAt()) line.end() else at
    } else if (sql.startsWith("/*", at) && !sql.startsWith("/*+", at)) closed(sql, at)
    else at

  /** Where the bracket that opens here is closed. One that nobody closes goes on to the end, as Spark says then. */
  private def closed(sql: String, at: Int): Int = {
    val bracket = Bracket.matcher(sql).region(at, sql.length)

    @tailrec def from(depth: Int): Int =
      if (!bracket.find()) sql.length
      else if (bracket.group() == "/*") from(depth + 1)
      else if (depth == 1) bracket.end()
      else from(depth - 1)

    from(0)
  }
}
