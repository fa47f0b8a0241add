package io.headwater.spark

import org.apache.hadoop.hive.common.{HiveInterruptCallback, HiveInterruptUtils}

/**
 * Ctrl-C in spark-sql, which interrupts no thread: it cancels all Spark jobs and tells who registered
 * with Hive's command line. A statement that only waits for the engine has no job.
 */
object Interruption {
  def during[A](interrupted: () => Unit)(work: => A): A = {
    val callback = new HiveInterruptCallback { override def interrupt(): Unit = interrupted() }
    HiveInterruptUtils.add(callback)
    try work finally HiveInterruptUtils.remove(callback)
  }
}
