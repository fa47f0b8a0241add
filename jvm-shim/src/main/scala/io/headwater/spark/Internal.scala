package io.headwater.spark

import org.apache.spark.sql.SparkSession

/** The engine's own sessions carry this mark; what they write is not news, and they may write views. */
object Internal {
  private val Mark = "spark.headwater.internal"

  def is(session: SparkSession): Boolean = session.conf.getOption(Mark).contains("true")
}
