package io.headwater.spark

import java.io.OutputStream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.internal.SQLConf

/** The engine's own sessions carry this mark; what they write is not news, and they may write views. */
object Internal {
  private val Mark = "spark.headwater.internal"

  def is(session: SparkSession): Boolean = Access.setting(session, Mark).contains("true")

  /** The same of the session whose settings these are. */
  def is(settings: SQLConf): Boolean = settings.getConfString(Mark, "false") == "true"

  /** Runs a statement that would print among the rows of a user's statements, as Delta's `VACUUM` does. */
  def runQuietly(session: SparkSession, statement: String): Unit =
    Console.withOut(OutputStream.nullOutputStream())(session.sql(statement))
}
