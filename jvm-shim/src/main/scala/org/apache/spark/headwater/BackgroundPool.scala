package org.apache.spark.headwater

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{Pool, Schedulable, SchedulingMode}

/**
 * The scheduler pool that refreshes run in under `spark.scheduler.mode=FAIR`. Weights are whole numbers
 * and a user's pools have the least, one; so a task here counts for [[BackgroundPool.Share]] of theirs.
 * Its first task counts for nothing, as anybody's, so that a busy application does not starve it. In it each
 * thread of the engine has a pool of its own, so that a long refresh does not hold up a short one beside it.
 * Spark asks all pools for a name before it makes one at the root. So a thread's pool is made when it is asked for.
 */
private[headwater] final class BackgroundPool(leastCores: Int, ownWeight: Int, share: Int)
  extends Pool(BackgroundPool.Name, SchedulingMode.FAIR, leastCores, ownWeight) {
  override def increaseRunningTasks(tasks: Int): Unit = super.increaseRunningTasks(tasks * share)
  override def decreaseRunningTasks(tasks: Int): Unit = super.decreaseRunningTasks(tasks * share)

  override def getSchedulableByName(name: String): Schedulable = synchronized {
    val known = super.getSchedulableByName(name)
    if (known == null && name.startsWith(s"${BackgroundPool.Name}-")) addSchedulable(new Pool(name, SchedulingMode.FIFO, 0, 1))
    if (known == null) super.getSchedulableByName(name) else known
  }
}

object BackgroundPool {
  val Share = 10
  private[headwater] val Name = "headwater"

  /** Adds the pool to an application's fair scheduler. A pool of this name in its allocation file tells weight and share. */
  def addTo(context: SparkContext): Unit =
    if (context.getSchedulingMode == SchedulingMode.FAIR) addTo(context.taskScheduler.rootPool)

  private[headwater] def addTo(root: Pool): Unit = root.getSchedulableByName(Name) match {
    case null => root.addSchedulable(new BackgroundPool(0, 1, Share))
    case own: Pool if !own.isInstanceOf[BackgroundPool] && own.schedulableQueue.isEmpty =>
      root.removeSchedulable(own)
      root.addSchedulable(new BackgroundPool(own.minShare, own.weight, 1))
    case _ =>
  }
}
