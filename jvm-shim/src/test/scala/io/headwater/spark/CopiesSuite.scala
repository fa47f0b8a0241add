package io.headwater.spark

import java.util.concurrent.CancellationException

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession
import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class CopiesSuite extends AnyFunSuite {
  private val name = "headwater shop.monthly_revenue 1762000000123"
  private val memory = s"${LocalSpark.warehouse}/shop.db/memory/v7/data"
  private val place = s"${LocalSpark.warehouse}/shop.db/v/.v7/data"

  /** A session in which some files are there, and how many bytes they have. */
  private def made(rows: Int): (SparkSession, Long) = {
    val session = LocalSpark.emptyShop()
    Seq(1, 2).foreach(each => session.range(rows).selectExpr("uuid() AS note").write.parquet(s"$memory/a=$each"))
    val files = Files.state(session, Some(new org.apache.hadoop.fs.Path(memory)))
    (session, files.bytes)
  }

  test("bytes are copied below a directory, and nothing is left under way") {
    val (session, size) = made(100)
    Copies.copy(session, name, memory, place, 0)
    assert(session.read.parquet(place).count() == 200)
    assert(Files.state(session, Some(new org.apache.hadoop.fs.Path(place))).bytes == size)
    assert(Copies.all.isEmpty)
  }

  test("no faster than was said; it can be watched, and stopped within a second") {
    val (session, size) = made(20000)
    val copy = Future(Copies.copy(session, name, memory, place, size / 4))
    Thread.sleep(1500)
    val List(progress) = parse(Progress.of(session)).asInstanceOf[JArray].arr
    assert(progress.asInstanceOf[JObject].values.keySet == Golden.json("progress").asInstanceOf[JArray].arr.head.asInstanceOf[JObject].values.keySet)
    assert(progress \ "view" == JString("shop.monthly_revenue") && progress \ "version" == JInt(1762000000123L))
    val JInt(copied) = progress \ "copied"
    assert(copied > 0 && copied < size && progress \ "size" == JInt(size))
    Copies.stop("another")
    assert(!copy.isCompleted)
    Copies.stop(name)
    intercept[CancellationException](Await.result(copy, 1.second))
    assert(Copies.all.isEmpty && Progress.of(session) == "[]")
  }

  test("progress of a refresh is that of its group's jobs") {
    val session = LocalSpark.emptyShop()
    session.sparkContext.setJobGroup(name, "refresh", interruptOnCancel = true)
    val foreign = Future {
      session.sparkContext.setJobGroup("headwater of mine", "a program's own", interruptOnCancel = true)
      session.sparkContext.range(0, 1, 1, 1).map { each => Thread.sleep(60000); each }.count()
    }
    val slow = Future {
      session.sparkContext.setJobGroup(name, "refresh", interruptOnCancel = true)
      session.sparkContext.range(0, 4, 1, 4).map { each => Thread.sleep(if (each == 0) 0 else 60000); each }.count()
    }
    val until = System.nanoTime + 20.seconds.toNanos
    def found = parse(Progress.of(session)).asInstanceOf[JArray].arr
    while (found.forall(each => (each \ "done") == JInt(0)) && System.nanoTime < until) Thread.sleep(50)
    val List(progress) = found
    assert(progress \ "tasks" == JInt(4) && progress \ "done" == JInt(1) && progress \ "size" == JInt(0))
    Seq(name, "headwater of mine").foreach(session.sparkContext.cancelJobGroup(_))
    session.sparkContext.clearJobGroup()
    Seq(slow, foreign).foreach(Await.ready(_, 20.seconds))
  }
}
