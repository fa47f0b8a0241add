package org.apache.spark.headwater

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import io.headwater.spark.{Golden, LocalSpark, Progress}
import org.apache.spark.SparkContext
import org.json4s.JObject
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

/** Two slots there are. */
class GroupsSuite extends AnyFunSuite {
  private def context: SparkContext = LocalSpark.session.sparkContext

  /** Runs tasks that take so many ms each, as a job of a group. */
  private def ran(group: String, tasks: Int, millis: Long): Unit = {
    context.setJobGroup(group, group)
    try context.parallelize(1 to tasks, tasks).foreach(_ => Thread.sleep(millis))
    finally context.clearJobGroup()
  }

  private def between(low: Long, found: Long, high: Long): Unit = assert(low <= found && found <= high)

  test("a job that fills all slots takes as long as it is about") {
    ran("full", 2, 400)
    val Some(effort) = Groups.effort(context, "full")
    between(400, effort.alone, effort.active + 1)
    assert(effort.share > 0.8 && effort.share <= 1.0)
    between(800, effort.work, 2 * effort.alone + 1)
    val told = parse(Progress.effort(LocalSpark.session, "full")).asInstanceOf[JObject].values
    assert(told.keySet == Golden.json("effort").asInstanceOf[JObject].values.keySet && told("alone") == 1000 * effort.alone)
    assert(told("work") == 1000 * effort.work)
  }

  test("what waits for others would have taken less alone") {
    val others = Future(ran("others", 2, 1200))
    while (context.statusTracker.getJobIdsForGroup("others").isEmpty) Thread.sleep(10)
    ran("waiting", 1, 200)
    Await.result(others, 10.seconds)
    val Some(effort) = Groups.effort(context, "waiting")
    between(200, effort.alone, 600)
    assert(effort.active >= 1000 && effort.share == 0.5)
  }

  test("one job after the other: times add up, pauses do not") {
    ran("twice", 1, 200)
    Thread.sleep(500)
    ran("twice", 2, 200)
    val Some(effort) = Groups.effort(context, "twice")
    between(400, effort.alone, effort.active + 1)
    assert(effort.active < 900 && effort.share > 0.6 && effort.share < 0.9)
  }

  test("nothing is said of a group that ran nothing, or that still runs") {
    assert(Groups.effort(context, "nobody").isEmpty)
    val running = Future(ran("running", 1, 1000))
    while (context.statusTracker.getJobIdsForGroup("running").isEmpty) Thread.sleep(10)
    assert(Groups.effort(context, "running").isEmpty)
    Await.result(running, 10.seconds)
    assert(Groups.effort(context, "running").nonEmpty)
  }
}
