package org.apache.spark.headwater

import org.apache.spark.SparkContext

object Executors {

  /** The bytes that executors can hold in memory; those of the driver, if it runs the tasks itself. */
  def memory(context: SparkContext): Long = {
    val driver = context.env.blockManager.blockManagerId.hostPort
    val all = context.getExecutorMemoryStatus.map { case (at, (most, _)) => at -> most }
    val others = all - driver
    (if (others.isEmpty) all else others).values.sum
  }
}
