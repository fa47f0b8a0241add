package io.headwater.spark

import java.util.concurrent.{CancellationException, ConcurrentHashMap}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access

/**
 * Files that are brought from one place to another, as bytes, no faster than was said. Each copy has a name, by which it
 * can be watched and stopped.
 */
object Copies {
  private val Chunk = 1 << 18
  private val underWay = new ConcurrentHashMap[String, Copy]

  /** A copy of `size` bytes, and how many of them are `copied`. */
  final class Copy(val size: Long) {
    @volatile var copied = 0L
    @volatile var stopped = false
  }

  def all: Map[String, Copy] = underWay.asScala.toMap

  /**
   * Copies the files below a directory to where another one of the same shape is made of them.
   *
   * @param rate bytes a second, at most; 0: as many as go through
   * @throws CancellationException it was stopped; some of the files may be there
   */
  def copy(session: SparkSession, name: String, from: String, to: String, rate: Long): Unit = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    val files = Files.data(conf, new Path(from))
    val copy = new Copy(files.map(_._2.getLen).sum)
    val began = System.nanoTime
    underWay.put(name, copy)
    try files.foreach { case (relative, file) =>
      through(conf, file, new Path(to, relative)) { bytes =>
        copy.copied += bytes
        if (rate > 0) rest(began + copy.copied * 1000000000L / rate, copy)
        if (copy.stopped) throw new CancellationException(s"the job that brings $name to the warehouse was cancelled")
      }
    } finally underWay.remove(name)
  }

  def stop(name: String): Unit = Option(underWay.get(name)).foreach(_.stopped = true)

  private def through(conf: Configuration, file: FileStatus, to: Path)(copied: Int => Unit): Unit = {
    val in = file.getPath.getFileSystem(conf).open(file.getPath)
    try {
      val out = to.getFileSystem(conf).create(to, true)
      try {
        val content = new Array[Byte](Chunk)
        Iterator.continually(in.read(content)).takeWhile(_ >= 0).foreach { bytes =>
          out.write(content, 0, bytes)
          copied(bytes)
        }
      } finally out.close()
    } finally in.close()
  }

  /** Sleeps until a moment, or until the copy is stopped. */
  private def rest(until: Long, copy: Copy): Unit = {
    def millis = (until - System.nanoTime) / 1000000
    while (!copy.stopped && millis > 0) Thread.sleep(millis.min(100))
  }
}
