package io.headwater.spark

import java.io.{BufferedReader, File, InputStreamReader}
import java.lang.ProcessBuilder.Redirect
import java.util.Properties
import java.util.concurrent.{ConcurrentLinkedDeque, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.headwater.Gateway
import org.apache.spark.sql.headwater.HeadwaterException
import org.slf4j.LoggerFactory

/**
 * The Python engine attached to this application. It holds the other end of a pipe from this JVM and
 * ends when the pipe closes, so it never outlives its driver, however that ends.
 */
final class EngineProcess private (process: Process, gateway: Gateway, python: String) {
  private val lastLines = new ConcurrentLinkedDeque[String]
  @volatile private var stopping = false
  private val startedAt = System.nanoTime
  @volatile private var endedAt: Option[Long] = None

  private val reader = new Thread(() => readLog(), "headwater-engine-log")
  reader.setDaemon(true)
  reader.start()

  /** Why there is no engine any more, in words for the user; empty while it runs. */
  def failure: Option[String] =
    if (stopping) Some("this application has ended, and Headwater with it")
    else if (process.isAlive) None
    else Some(explained)

  /** Asked once: it may start a Python. */
  private lazy val explained: String = {
    reader.join(1000)
    EngineProcess.explain(python, process.exitValue, lastLines.asScala.toSeq)
  }

  /** Whether it runs no more. Each write asks this. */
  def hasEnded: Boolean = stopping || !process.isAlive

  /** How long it ran, to its end or until now. */
  def workedMillis: Long = (endedAt.getOrElse(System.nanoTime) - startedAt) / 1000000

  /** Whether it ended by a signal from outside, rather than of itself. */
  def wasKilled: Boolean = !process.isAlive && process.exitValue > 128

  /** Ends the engine and waits for it, not for long. */
  def stop(): Unit = {
    stopping = true
    process.getOutputStream.close()
    if (!process.waitFor(3, TimeUnit.SECONDS)) process.destroyForcibly()
    gateway.close()
  }

  /** Frees what an engine that has died leaves behind. */
  def close(): Unit = {
    process.getOutputStream.close()
    gateway.close()
  }

  /** The engine's own messages go to the log as such; what Python says besides is for those who look for more. */
  private def readLog(): Unit = {
    val lines = new BufferedReader(new InputStreamReader(process.getInputStream))
    Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach { line =>
      lastLines.addLast(line)
      if (lastLines.size > 20) lastLines.pollFirst()
      if (line.startsWith(EngineProcess.Own)) EngineProcess.log.warn(line.stripPrefix(EngineProcess.Own))
      else EngineProcess.log.info(line)
    }
    val status = process.waitFor()
    endedAt = Some(System.nanoTime)
    if (!stopping) EngineProcess.log.error(EngineProcess.explain(python, status, lastLines.asScala.toSeq))
  }
}

object EngineProcess {
  private val log = LoggerFactory.getLogger("io.headwater")
  private val Own = "headwater: "

  /** The status with which the engine refuses to start. Its last line says why (process/engine_process.py). */
  private val Refused = 3

  /** Python alone: neither the working directory nor variables of the environment say from where it imports. */
  private val Isolated = Seq("-I", "-u", "-c")

  /**
   * Packages of the user and the directories in PYTHONPATH come after all that is installed: jobs are there, and no file in
   * them takes the place of a module of Python's or Headwater's. An empty entry would be the working directory.
   */
  private val Imported =
    """import os, site, sys
      |if sys.prefix == sys.base_prefix and not os.environ.get("PYTHONNOUSERSITE"):
      |    site.addsitedir(site.getusersitepackages())
      |named = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
      |sys.path += [os.path.abspath(each) for each in named]
      |from headwater.spark.process.engine_process import main""".stripMargin

  private val Engine = s"$Imported\nmain()"

  def start(context: SparkContext): EngineProcess = {
    val python = interpreter(context)
    if (python.contains("/") && !new File(python).canExecute)
      throw new HeadwaterException(s"there is no Python at $python; $remedy")
    val gateway = new Gateway(context)
    val builder = new ProcessBuilder(detached(python +: Isolated :+ Engine).asJava).redirectErrorStream(true)
    val environment = builder.environment
    environment.put("PYSPARK_GATEWAY_PORT", gateway.port.toString)
    environment.put("PYSPARK_GATEWAY_SECRET", gateway.secret)
    environment.put("PYSPARK_PIN_THREAD", "true")
    val process =
      try builder.start()
      catch {
        case missing: java.io.IOException =>
          gateway.close()
          throw new HeadwaterException(s"the Python '$python' could not be started (${missing.getMessage}); $remedy")
      }
    new EngineProcess(process, gateway, python)
  }

  /**
   * Ctrl-C and a closing terminal are for the driver; the engine ends with it, and must not be hit while
   * it starts. It yields to the user's own work when cores are scarce.
   */
  private def detached(command: Seq[String]): Seq[String] = {
    val nice = if (new File("/usr/bin/nice").canExecute) "/usr/bin/nice -n 5 " else ""
    if (new File("/bin/sh").canExecute) Seq("/bin/sh", "-c", s"""trap '' INT HUP; exec $nice"$$0" "$$@"""") ++ command
    else command
  }

  private def interpreter(context: SparkContext): String =
    context.getConf.getOption("spark.headwater.python")
      .orElse(builtWith)
      .orElse(sys.env.get("PYSPARK_DRIVER_PYTHON").filter(_.contains("python")))
      .orElse(sys.env.get("PYSPARK_PYTHON"))
      .getOrElse("python3")

  /** The interpreter that built this jar, which therefore has Headwater, if it is still there. */
  private def builtWith: Option[String] = builder.filter(path => new File(path).canExecute)

  /** Read at the start: see [[Classes]]. */
  private[spark] lazy val builder: Option[String] =
    Option(getClass.getResourceAsStream("/headwater.properties")).map { stream =>
      val properties = new Properties
      try properties.load(stream) finally stream.close()
      properties.getProperty("python", "")
    }

  private val remedy = "set spark.headwater.python to a Python in which headwater is installed"

  private val ImportSeconds = 20L

  private def imports(python: String): Boolean = Try {
    val asked = new ProcessBuilder((python +: Isolated :+ Imported).asJava)
      .redirectOutput(Redirect.DISCARD).redirectError(Redirect.DISCARD).start()
    try !asked.waitFor(ImportSeconds, TimeUnit.SECONDS) || asked.exitValue == 0 finally asked.destroyForcibly()
  }.getOrElse(false)

  private[spark] def explain(python: String, status: Int, output: Seq[String]): String = {
    val last = output.lastOption.map(_.stripPrefix(Own)).getOrElse("nothing")
    if (status == Refused) last
    else if (status == 1 && !imports(python))
      s"the Python '$python' has no Headwater ($last); install it there (pip install headwater) or $remedy"
    else if (status == 126 || status == 127) s"the Python '$python' could not be started ($last); $remedy"
    else
      s"Headwater's engine ended with status $status; it is started again by the next Headwater statement, " +
        s"and what was pending goes on. Its last words: $last"
  }
}
