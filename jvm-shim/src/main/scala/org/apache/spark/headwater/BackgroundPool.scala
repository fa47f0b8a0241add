package org.apache.spark.headwater

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{Pool, SchedulingMode}

/**
 * The scheduler pool that refreshes run in under `spark.scheduler.mode=FAIR`. Weights are whole numbers
 * and a user's pools have the least, one; so a task here counts for [[BackgroundPool.Share]] of theirs.
 * Its first task counts for nothing, as anybody's, so that a busy application does not starve it. In it each
 * track has a pool of its own, so that a long refresh does not hold up a short one beside it.
 */
private[headwater] final class BackgroundPool(name: String) extends Pool(name, SchedulingMode.FAIR, 0, 1) {
  override def increaseRunningTasks(tasks: Int): Unit = super.increaseRunningTasks(tasks * BackgroundPool.Share)
  override def decreaseRunningTasks(tasks: Int): Unit = super.decreaseRunningTasks(tasks * BackgroundPool.Share)
}

object BackgroundPool {
  val Share = 10
  private val Name = "headwater"

  /** Adds the pool to an application's fair scheduler, unless its allocation file defines one of this name. */
  def addTo(context: SparkContext, tracks: Int): Unit =
    if (context.getSchedulingMode == SchedulingMode.FAIR) addTo(context.taskScheduler.rootPool, tracks)

  private[headwater] def addTo(root: Pool, tracks: Int): Unit = {
    if (root.getSchedulableByName(Name) == null) root.addSchedulable(new BackgroundPool(Name))
    val refreshes = root.getSchedulableByName(Name)
    (0 until tracks).map(track => s"$Name-$track").filter(root.getSchedulableByName(_) == null).foreach { name =>
      refreshes.addSchedulable(new Pool(name, SchedulingMode.FIFO, 0, 1))
    }
  }
}
