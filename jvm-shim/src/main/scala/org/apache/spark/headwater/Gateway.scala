package org.apache.spark.headwater

import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.api.python.Py4JServer

/** An authenticated py4j server on the loopback interface, as Spark itself makes for PySpark. */
final class Gateway(context: SparkContext) {
  private val server = new Py4JServer(context.getConf)
  server.start()

  def port: Int = server.getListeningPort
  def secret: String = server.secret

  /**
   * Frees the port, after a while: py4j interrupts the threads that still serve a call of an engine that
   * has ended, and Derby, where it is the metastore, breaks when its thread is interrupted.
   */
  def close(): Unit = {
    val thread = new Thread(() => { Thread.sleep(Gateway.GraceMillis); server.shutdown() }, "headwater-gateway-close")
    thread.setDaemon(true)
    thread.start()
  }
}

object Gateway {
  private val GraceMillis = 30000L
}

object Contexts {
  /** The running context, if there is one; never waits and never makes one. */
  def active: Option[SparkContext] = SparkContext.getActive.filterNot(_.isStopped)

  /**
   * Waits until listeners have heard of what was done before, at most `millis`; an application that
   * never pauses has not settled then. Not to be called by a listener.
   */
  def settle(context: SparkContext, millis: Long): Unit =
    try context.listenerBus.waitUntilEmpty(millis) catch { case _: TimeoutException => }

  /** The bytes that executors can hold in memory; those of the driver, if it runs the tasks itself. */
  def memory(context: SparkContext): Long = {
    val driver = context.env.blockManager.blockManagerId.hostPort
    val all = context.getExecutorMemoryStatus.map { case (at, (most, _)) => at -> most }
    val others = all - driver
    (if (others.isEmpty) all else others).values.sum
  }
}
