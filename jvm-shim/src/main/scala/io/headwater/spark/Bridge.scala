package io.headwater.spark

import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ExecutionException, LinkedBlockingQueue, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.apache.spark.headwater.Contexts
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/**
 * Where messages wait for the engine. The engine pulls with [[poll]] and answers with [[reply]];
 * nothing here calls into Python. Messages are specified in docs/protocol.md.
 */
object Bridge {
  private[spark] val Most = 10000
  private val HintMillis = 500L
  private val outbox = new LinkedBlockingQueue[String]
  private val waiting = new ConcurrentHashMap[Long, CompletableFuture[JValue]]
  private val ids = new AtomicLong
  private val polling = new AtomicInteger

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

  /** The answer to the message `id`: `{"rows": [...]}` or `{"error": "..."}`. Called by the engine. */
  def reply(id: Long, json: String): Unit =
    Option(waiting.remove(id)).foreach(_.complete(parse(json)))

  /**
   * Reports something that needs no answer; never blocks. Where an engine cannot be started, nobody
   * pulls, and what is beyond [[Most]] is dropped: the next check finds it.
   */
  def tell(kind: String, body: JObject): Unit =
    if (outbox.size < Most) outbox.put(message(kind, body))

  private[spark] def message(kind: String, body: JObject): String =
    compact(render(JObject("type" -> JString(kind)) ~~ body))

  /** A message that is answered: with its number, and what of the session gives the statement its meaning. */
  private[spark] def question(id: Long, session: SparkSession, kind: String, body: JObject): String =
    message(kind, JObject("id" -> JLong(id), "session" -> Captured.of(session)) ~~ body)

  /**
   * Sends a message and waits for the engine's answer, starting the engine when it is not there.
   * @throws HeadwaterException with the engine's own words when it refuses or cannot be started
   */
  def ask(session: SparkSession, kind: String, body: JObject): JValue = {
    val application = Application.of(session.sparkContext)
    val id = ids.incrementAndGet()
    val answer = new CompletableFuture[JValue]
    var engine = application.startEngine()
    Contexts.settle(session.sparkContext, HintMillis) // hints of what was written before go first
    val sent = question(id, session, kind, body)
    waiting.put(id, answer)
    outbox.put(sent)
    try {
      val waited = Interruption.during(() => answer.completeExceptionally(new InterruptedException)) {
        await(answer, engine).getOrElse {
          val again = engine.wasKilled && (outbox.contains(sent) || repeatable(kind, body))
          if (!again) throw new HeadwaterException(engine.failure.get)
          engine = application.startEngine()
          if (!outbox.contains(sent)) outbox.put(sent)
          await(answer, engine).getOrElse(throw new HeadwaterException(engine.failure.get))
        }
      }
      waited \ "error" match {
        case JString(message) => throw new HeadwaterException(message)
        case _ => waited
      }
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

  /** Sends a `create` message that another program wrote, and waits: the rows of the answer. */
  def create(session: SparkSession, json: String): String = {
    val body = parse(json).asInstanceOf[JObject]
    val said = JObject(body.obj.filterNot { case (key, _) => Set("type", "session").contains(key) })
    compact(render(ask(session, "create", said) \ "rows"))
  }

  private def abandon(id: Long, sent: String): Unit =
    if (!outbox.contains(sent)) tell("abandoned", JObject("id" -> JLong(id)))

  /** The answer; empty when the engine ends before it comes. */
  private def await(answer: CompletableFuture[JValue], engine: EngineProcess): Option[JValue] = {
    while (engine.failure.isEmpty) {
      try return Some(answer.get(200, TimeUnit.MILLISECONDS)) catch { case _: TimeoutException => }
    }
    None
  }

  /** Statements that change no definition may be carried out twice, when an engine was killed over them. */
  private def repeatable(kind: String, body: JObject): Boolean = body \ "kind" match {
    case JString(said) => !Set("alter", "drop").contains(said)
    case _ => kind == "wait"
  }

  private[spark] def forget(): Unit = outbox.clear()

  private implicit class Merge(left: JObject) {
    def ~~(right: JObject): JObject = JObject(left.obj ++ right.obj)
  }
}
