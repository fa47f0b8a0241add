package io.headwater.spark

import java.util.concurrent.{
  CompletableFuture, ConcurrentHashMap, ExecutionException, LinkedBlockingQueue, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.common.{HiveInterruptCallback, HiveInterruptUtils}
import org.apache.spark.headwater.Contexts
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.{Access, HeadwaterException}

/**
 * Where messages wait for the engine. The engine pulls with [[poll]] and answers with [[reply]];
 * nothing here calls into Python. Messages are specified in docs/protocol.md.
 */
object Bridge {
  private[spark] val Most = 10000
  private val HintMillis = 500L
  private val outbox = new LinkedBlockingQueue[String]
  private val waiting = new ConcurrentHashMap[Long, CompletableFuture[Reply]]
  private val ids = new AtomicLong
  private val polling = new AtomicInteger
  private val modules = ConcurrentHashMap.newKeySet[String]

  /** The next message, or the empty string when none came within `millis`. Called by the engine. */
  def poll(millis: Long): String = {
    polling.incrementAndGet()
    try Option(outbox.poll(millis, TimeUnit.MILLISECONDS)).getOrElse("") finally polling.decrementAndGet()
  }

  /** Waits until the last poll of an engine that has died is over: it would take a message and lose it. */
  private[spark] def settle(): Unit = {
    val giveUp = System.nanoTime + TimeUnit.SECONDS.toNanos(2)
    while (polling.get > 0 && System.nanoTime < giveUp) Thread.sleep(20)
  }

  /** The answer to the message `id`, a [[Reply]] as JSON. Called by the engine. */
  def reply(id: Long, json: String): Unit =
    Option(waiting.remove(id)).foreach(_.complete(Wire.decode[Reply](json)))

  /**
   * Reports something that needs no answer; never blocks. Where an engine cannot be started, nobody
   * pulls, and what is beyond [[Most]] is dropped: the next check finds it.
   */
  def tell(hint: Hint): Unit = tell("hint", hint)

  private def tell(kind: String, message: Product): Unit =
    if (outbox.size < Most) outbox.put(Wire.encode(kind, message))

  /** A message that is answered: with its number, and what of the session gives the statement its meaning. */
  private[spark] def asked(id: Long, session: SparkSession, question: Question): String =
    Wire.encode(question.messageType, Asking(id, Captured.of(session)), question)

  /**
   * Sends a message and waits for the engine's answer, starting the engine when it is not there.
   * @throws HeadwaterException with the engine's own words when it refuses or cannot be started
   */
  def ask(session: SparkSession, question: Question): Reply = {
    val application = Application.of(session.sparkContext)
    val id = ids.incrementAndGet()
    val answer = new CompletableFuture[Reply]
    var engine = application.startEngine()
    if (question.afterWrites) Contexts.settle(session.sparkContext, HintMillis) // hints of what was written before go first
    val sent = asked(id, session, question)
    waiting.put(id, answer)
    outbox.put(sent)
    try {
      val waited = Interruption.during(() => answer.completeExceptionally(new InterruptedException)) {
        await(answer, engine).getOrElse {
          val again = engine.wasKilled && (outbox.contains(sent) || question.repeatable)
          if (!again) throw new HeadwaterException(engine.failure.get)
          engine = application.startEngine()
          if (!outbox.contains(sent)) outbox.put(sent)
          await(answer, engine).getOrElse(throw new HeadwaterException(engine.failure.get))
        }
      }
      waited.error.foreach(message => throw new HeadwaterException(message))
      waited
    } catch {
      case interrupted: InterruptedException =>
        abandon(id, sent)
        throw interrupted
      case interrupted: ExecutionException if interrupted.getCause.isInstanceOf[InterruptedException] =>
        abandon(id, sent)
        throw new HeadwaterException("the statement was cancelled; its refreshes go on in the background")
    } finally {
      // Nobody waits any more, so an engine that starts later must not carry it out.
      outbox.remove(sent)
      waiting.remove(id)
    }
  }

  /** Asks a [[CreateQuestion]] that another program wrote: the rows of the answer, as JSON. */
  def create(session: SparkSession, json: String): String = {
    val question = Wire.decode[CreateQuestion](json)
    question.job.foreach(name => modules.add(name.takeWhile(_ != ':')))
    Wire.encode(ask(session, question).rows)
  }

  /** The modules whose jobs programs of this application registered, as JSON. An engine imports these, too. */
  def registered: String = Wire.encode(modules.asScala.toSeq.sorted)

  private def abandon(id: Long, sent: String): Unit =
    if (!outbox.contains(sent)) tell("abandoned", Abandoned(id))

  /** The answer; empty when the engine ends before it comes. */
  private def await(answer: CompletableFuture[Reply], engine: EngineProcess): Option[Reply] = {
    while (engine.failure.isEmpty) {
      try return Some(answer.get(200, TimeUnit.MILLISECONDS)) catch { case _: TimeoutException => }
    }
    None
  }

  private[spark] def forget(): Unit = {
    outbox.clear()
    modules.clear()
  }
}

/**
 * Ctrl-C in spark-sql, which interrupts no thread: it cancels all Spark jobs and tells who registered
 * with Hive's command line. A statement that only waits for the engine has no job.
 */
object Interruption {
  def during[A](interrupted: () => Unit)(work: => A): A = {
    val callback = new HiveInterruptCallback { override def interrupt(): Unit = interrupted() }
    HiveInterruptUtils.add(callback)
    try work finally HiveInterruptUtils.remove(callback)
  }
}
