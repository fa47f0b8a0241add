package io.headwater.spark

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.headwater.{BackgroundPool, Contexts}
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.headwater.HeadwaterException
import org.slf4j.LoggerFactory

/**
 * Headwater within one Spark application: its listener and its engine process. A Headwater statement
 * starts the engine at once; otherwise it starts when the user pauses, since a Python process that starts
 * beside the first statements of a script would take cores from them.
 */
final class Application(val context: SparkContext) {
  import Application._

  @volatile private var engine: Option[EngineProcess] = None
  private var closed = false
  private val patience = new Patience
  @volatile private var quietUntil = 0L
  @volatile private var lastWork = System.currentTimeMillis + StartupMillis // sessions are made and tell nothing
  private val waking = new AtomicBoolean
  private val role = context.getConf.get("spark.headwater.role", "auto").trim.toLowerCase

  private val listener = new SparkListener {
    private val writes = new WriteListener(Application.this)
    private var warned = false
    override def onOtherEvent(event: SparkListenerEvent): Unit = if (role != "off") {
      lastWork = lastWork.max(System.currentTimeMillis)
      // Spark stops the whole application for an error of a class that cannot be loaded, whoever's class that is.
      try writes.on(event) catch {
        case error @ (NonFatal(_) | _: LinkageError) =>
          if (!warned) log.warn("what a statement wrote is found by the next check: it cannot be examined", error)
          warned = true
      }
    }
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = close()
  }
  context.addSparkListener(listener)
  if (role != "off") BackgroundPool.addTo(context)

  /** Tells the engine where something was perhaps written, and lets there be an engine soon. */
  def tell(hint: Hint): Unit = if (role != "off") {
    Bridge.tell(hint)
    wakeEngine()
  }

  /** The engine of this application, started when it is not running. */
  def startEngine(): EngineProcess = synchronized {
    if (role == "off")
      throw new HeadwaterException("Headwater is switched off in this application by spark.headwater.role=off")
    if (closed) throw new HeadwaterException("this application has ended, and Headwater with it")
    engine.filterNot(_.hasEnded).getOrElse {
      engine.foreach { dead => dead.close(); Bridge.settle() }
      engine = None
      val started = EngineProcess.start(context)
      engine = Some(started)
      started
    }
  }

  /**
   * Starts the engine in the background when there is none and the user pauses. One that could not start,
   * or that died, is started again after a while ([[Patience]]), so that a user without a working engine is
   * left in peace.
   */
  def wakeEngine(): Unit =
    if (role != "off" && System.currentTimeMillis >= quietUntil && missing && waking.compareAndSet(false, true)) {
      val thread = new Thread(() => try wake() finally waking.set(false), "headwater-wake")
      thread.setDaemon(true)
      thread.start()
    }

  private def missing: Boolean = engine.forall(_.hasEnded)

  private def wake(): Unit = {
    val atLast = System.currentTimeMillis + LongestWaitMillis
    while (System.currentTimeMillis < (lastWork + PauseMillis).min(atLast) && missing) Thread.sleep(100)
    synchronized {
      if (!closed && !context.isStopped && missing) {
        quietUntil = System.currentTimeMillis + patience.waitMillis(engine.map(_.workedMillis))
        try startEngine() catch { case refused: HeadwaterException => log.error(refused.text) }
      }
    }
  }

  private def close(): Unit = {
    synchronized { closed = true; engine.foreach(_.stop()); engine = None }
    Application.forget(this)
  }
}

object Application {
  private val log = LoggerFactory.getLogger("io.headwater")
  private val StartupMillis = 5000L
  private val PauseMillis = 3000L
  private val LongestWaitMillis = 20000L
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
    context.map(of).foreach(_.wakeEngine())
  }
}

/**
 * How long an application waits before it starts the next engine in the background: a minute, twice as long after each
 * engine, an hour at most. An engine that worked for ten minutes was no failed start: then it is a minute again.
 */
private[spark] final class Patience {
  import Patience._

  private var next = FirstMillis

  /**
   * The wait from now on, as an engine is started.
   *
   * @param workedMillis how long the one before it worked; none if there was none
   */
  def waitMillis(workedMillis: Option[Long]): Long = {
    if (workedMillis.exists(_ >= SteadyMillis)) next = FirstMillis
    val now = next
    next = (next * 2).min(LastMillis)
    now
  }
}

private[spark] object Patience {
  val FirstMillis = 60000L
  val LastMillis = 3600000L
  val SteadyMillis = 600000L
}
