package io.headwater.spark

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.headwater.Held

/** Rows that are held in Spark's memory for the readers of a run, by its version. */
object Blocks {
  def hold(frame: DataFrame, version: Long, level: String): Unit = Held.hold(frame, version, level)

  def size(version: Long): Long = Held.size(version)

  def frame(session: SparkSession, version: Long): DataFrame = Held.frame(session, version)

  def release(version: Long): Unit = Held.release(version)

  def releaseAll(): Unit = Held.releaseAll()

  def room(session: SparkSession): Long = Held.room(session)
}
