package org.apache.spark.headwater

import org.apache.spark.scheduler.{FairSchedulingAlgorithm, Pool, SchedulingMode}
import org.scalatest.funsuite.AnyFunSuite

class BackgroundPoolSuite extends AnyFunSuite {
  private val first = new FairSchedulingAlgorithm().comparator _

  private def pools: (Pool, Pool) = (new Pool("users", SchedulingMode.FIFO, 0, 1), new BackgroundPool(0, 1, BackgroundPool.Share))

  test("a user's pool has ten tasks running for each of a refresh") {
    val (users, refreshes) = pools
    refreshes.increaseRunningTasks(1)
    users.increaseRunningTasks(9)
    assert(first(users, refreshes))
    users.increaseRunningTasks(2)
    assert(first(refreshes, users))
  }

  test("a refresh gets a first task beside a busy user") {
    val (users, refreshes) = pools
    users.increaseRunningTasks(1)
    assert(first(refreshes, users))
  }

  test("each thread has a pool, and all of them together count as one") {
    val root = new Pool("", SchedulingMode.FAIR, 0, 0)
    BackgroundPool.addTo(root)
    BackgroundPool.addTo(root)
    val tracks = Seq("headwater-0", "headwater-17").map(root.getSchedulableByName(_).asInstanceOf[Pool])
    tracks.foreach(_.increaseRunningTasks(1))
    assert(root.schedulableQueue.size == 1 && root.getSchedulableByName("headwater-0") == tracks.head)
    assert(root.getSchedulableByName("users") == null && root.getSchedulableByName("headwaters") == null)
    assert(root.getSchedulableByName("headwater").runningTasks == 2 * BackgroundPool.Share)
    tracks.head.increaseRunningTasks(1)
    assert(first(tracks.last, tracks.head))
  }

  test("what has ended counts no more") {
    val (_, refreshes) = pools
    refreshes.increaseRunningTasks(3)
    refreshes.decreaseRunningTasks(3)
    assert(refreshes.runningTasks == 0)
  }

  test("a pool of the user's own has its weight, and the threads below it") {
    val root = new Pool("", SchedulingMode.FAIR, 0, 0)
    root.addSchedulable(new Pool("headwater", SchedulingMode.FIFO, 2, 5))
    BackgroundPool.addTo(root)
    val thread = root.getSchedulableByName("headwater-3").asInstanceOf[Pool]
    thread.increaseRunningTasks(1)
    val refreshes = root.getSchedulableByName("headwater").asInstanceOf[Pool]
    assert((refreshes.minShare, refreshes.weight, refreshes.runningTasks) == ((2, 5, 1)))
    assert(root.schedulableQueue.size == 1)
  }
}
