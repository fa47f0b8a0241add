package io.headwater.spark

import org.apache.spark.SparkContext
import org.apache.spark.headwater.{BackgroundPool, Contexts}
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.headwater.HeadwaterException
import org.slf4j.LoggerFactory

/**
 * Headwater within one Spark application: its listener and its engine process. The engine is started
 * by the first thing that needs it: a Headwater statement, a reported write, or a few idle seconds,
 * so that it never delays a user's first statement.
 */
final class Application(val context: SparkContext) {
  import Application._

  private var engine: Option[EngineProcess] = None
  private var closed = false
  private var pause = FirstPauseMillis
  @volatile private var quietUntil = 0L
  private val role = context.getConf.get("spark.headwater.role", "auto")

  private val listener = new SparkListener {
    private val writes = new WriteListener(Application.this)
    override def onOtherEvent(event: SparkListenerEvent): Unit = if (role != "off") writes.on(event)
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = close()
  }
  context.addSparkListener(listener)
  if (role != "off") BackgroundPool.addTo(context)

  /** The engine of this application, started when it is not running. */
  def startEngine(): EngineProcess = synchronized {
    if (role == "off")
      throw new HeadwaterException("Headwater is switched off in this application by spark.headwater.role=off")
    if (closed) throw new HeadwaterException("this application has ended, and Headwater with it")
    engine.filter(_.failure.isEmpty).getOrElse {
      engine.foreach { dead => dead.close(); Bridge.settle() }
      engine = None
      val started = EngineProcess.start(context)
      engine = Some(started)
      started
    }
  }

  /**
   * Starts the engine in the background when there is none. One that could not start, or that died, is
   * started again after a pause that doubles, so that a user without a working engine is left in peace.
   */
  def wakeEngine(): Unit =
    if (role != "off" && System.currentTimeMillis >= quietUntil) {
      quietUntil = System.currentTimeMillis + 1000
      val thread = new Thread(() => wake(), "headwater-wake")
      thread.setDaemon(true)
      thread.start()
    }

  private def wake(): Unit = synchronized {
    if (!closed && !context.isStopped && engine.forall(_.failure.nonEmpty)) {
      quietUntil = System.currentTimeMillis + pause
      pause = (pause * 2).min(LastPauseMillis)
      try startEngine() catch { case refused: HeadwaterException => log.error(refused.text) }
    }
  }

  private def close(): Unit = {
    synchronized { closed = true; engine.foreach(_.stop()); engine = None }
    Application.forget(this)
  }
}

object Application {
  private val log = LoggerFactory.getLogger("io.headwater")
  private val IdleMillis = 3000L
  private val FirstPauseMillis = 60000L
  private val LastPauseMillis = 3600000L
  private var current: Option[Application] = None
  private var watching = false

  /** Called when a session is being built; its context may not be visible yet, so a thread looks. */
  def watch(): Unit = synchronized {
    if (!watching) {
      watching = true
      val thread = new Thread(() => look(), "headwater-watch")
      thread.setDaemon(true)
      thread.start()
    }
  }

  def of(context: SparkContext): Application = synchronized {
    current.filter(_.context eq context).getOrElse {
      Bridge.settle() // an engine of the application before may still be pulling
      Bridge.forget()
      val made = new Application(context)
      current = Some(made)
      made
    }
  }

  private[spark] def forget(application: Application): Unit = synchronized {
    if (current.contains(application)) current = None
  }

  private def look(): Unit = {
    var context = Contexts.active
    val giveUp = System.currentTimeMillis + 60000
    while (context.isEmpty && System.currentTimeMillis < giveUp) {
      Thread.sleep(20)
      context = Contexts.active
    }
    synchronized { watching = false }
    context.map(of).foreach { application =>
      Thread.sleep(IdleMillis)
      application.wakeEngine()
    }
  }
}
