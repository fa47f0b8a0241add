package org.apache.spark.headwater

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{Pool, SchedulingMode}

/**
 * The scheduler pool that refreshes run in under `spark.scheduler.mode=FAIR`. Weights are whole numbers
 * and a user's pools have the least, one; so a task here counts for [[BackgroundPool.Share]] of theirs.
 * Its first task counts for nothing, as anybody's, so that a busy application does not starve it.
 */
private[headwater] final class BackgroundPool(name: String) extends Pool(name, SchedulingMode.FIFO, 0, 1) {
  override def increaseRunningTasks(tasks: Int): Unit = super.increaseRunningTasks(tasks * BackgroundPool.Share)
  override def decreaseRunningTasks(tasks: Int): Unit = super.decreaseRunningTasks(tasks * BackgroundPool.Share)
}

object BackgroundPool {
  val Share = 10
  private val Name = "headwater"

  /** Adds the pool to an application's fair scheduler, unless its allocation file defines one of this name. */
  def addTo(context: SparkContext): Unit =
    if (context.getSchedulingMode == SchedulingMode.FAIR) {
      val root = context.taskScheduler.rootPool
      if (root.getSchedulableByName(Name) == null) root.addSchedulable(new BackgroundPool(Name))
    }
}
