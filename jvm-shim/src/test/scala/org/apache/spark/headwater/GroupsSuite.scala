package org.apache.spark.headwater

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import io.headwater.spark.{Golden, LocalSpark, Progress}
import org.apache.spark.SparkContext
import org.json4s.JObject
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class GroupsSuite extends AnyFunSuite {
  private def context: SparkContext = LocalSpark.session.sparkContext

  /** Runs tasks that take so many ms each, as a job of a group. */
  private def ran(group: String, tasks: Int, millis: Long): Unit = {
    context.setJobGroup(group, group)
    try context.parallelize(1 to tasks, tasks).foreach(_ => Thread.sleep(millis))
    finally context.clearJobGroup()
    context.listenerBus.waitUntilEmpty(60000)
  }

  test("a job that fills all slots takes as long as it is about") {
    assert(Groups.effort(Seq(Ran(2, 800, 0, 410)), slots = 2).contains(Effort(400, 410, 1.0, 800)))
  }

  test("what waits for others would have taken less alone") {
    assert(Groups.effort(Seq(Ran(1, 200, 0, 1400)), slots = 2).contains(Effort(200, 1400, 0.5, 200)))
  }

  test("one job after the other: times add up, pauses do not") {
    val ran = Seq(Ran(1, 200, 0, 210), Ran(2, 400, 710, 920))
    assert(Groups.effort(ran, slots = 2).contains(Effort(400, 420, 0.75, 600)))
  }

  test("stages beside each other are active once; tasks of no time say nothing") {
    assert(Groups.effort(Seq(Ran(1, 300, 0, 300), Ran(1, 300, 100, 400)), slots = 2).map(_.active).contains(400))
    assert(Groups.effort(Seq(Ran(4, 0, 0, 10)), slots = 2).isEmpty && Groups.effort(Nil, slots = 2).isEmpty)
  }

  test("the work of a group is that of its tasks, as a message") {
    ran("full", 2, 400)
    val Some(effort) = Groups.effort(context, "full")
    assert(effort.work >= 800 && effort.alone >= 400 && effort.active >= 400)
    val message = parse(Progress.effort(LocalSpark.session, "full")).asInstanceOf[JObject].values
    assert(message.keySet == Golden.json("effort").asInstanceOf[JObject].values.keySet)
    assert(message("alone") == 1000 * effort.alone && message("work") == 1000 * effort.work)
  }

  test("nothing is said of a group that ran nothing, or that still runs") {
    assert(Groups.effort(context, "nobody").isEmpty)
    val running = Future(ran("running", 1, 1000))
    while (context.statusTracker.getJobIdsForGroup("running").isEmpty) Thread.sleep(10)
    assert(Groups.effort(context, "running").isEmpty)
    Await.result(running, 60.seconds)
    assert(Groups.effort(context, "running").nonEmpty)
  }
}
