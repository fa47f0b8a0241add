package org.apache.spark.headwater

import org.apache.spark.scheduler.{FairSchedulingAlgorithm, Pool, SchedulingMode}
import org.scalatest.funsuite.AnyFunSuite

class BackgroundPoolSuite extends AnyFunSuite {
  private val first = new FairSchedulingAlgorithm().comparator _

  private def pools: (Pool, Pool) = (new Pool("users", SchedulingMode.FIFO, 0, 1), new BackgroundPool("headwater"))

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

  test("what has ended counts no more") {
    val (_, refreshes) = pools
    refreshes.increaseRunningTasks(3)
    refreshes.decreaseRunningTasks(3)
    assert(refreshes.runningTasks == 0)
  }
}
