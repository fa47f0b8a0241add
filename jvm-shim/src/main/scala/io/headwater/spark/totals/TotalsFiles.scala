package io.headwater.spark

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{List => JList}

import scala.collection.parallel.CollectionConverters._
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access

/** The files of totals, and the text beside them that names those which count (`refreshing/methods/buckets.py`). */
object TotalsFiles {

  /** The content of a file; null if there is none. */
  def text(session: SparkSession, path: String): String = {
    val (files, at) = opened(session, path)
    try {
      val in = files.open(at)
      try new String(in.readAllBytes(), UTF_8) finally in.close()
    } catch { case _: FileNotFoundException => null }
  }

  /** Writes a file, which is there as a whole or not at all. */
  def save(session: SparkSession, path: String, text: String): Unit = {
    val (files, at) = opened(session, path)
    val draft = new Path(at.getParent, s".${at.getName}.draft")
    val out = files.create(draft, true)
    try out.write(text.getBytes(UTF_8)) finally out.close()
    if (!files.rename(draft, at)) throw new java.io.IOException(s"$draft cannot be renamed to ${at.getName}; remove what is there")
  }

  /**
   * The files with rows in the directories below a root, one level deep.
   * @return of each directory by its name, the bytes of each file by its name, as JSON
   */
  def listed(session: SparkSession, root: String): String = {
    val found = Files.data(Access.classic(session).sessionState.newHadoopConf(), new Path(root)).map { case (name, file) =>
      val Array(directory, own) = name.split("/", 2)
      (directory, own, file.getLen)
    }
    Wire.encode(found.groupMap(_._1)(each => each._2 -> each._3).map { case (directory, files) => directory -> files.toMap })
  }

  /** Whether each file is there, and has its length; one is `length path`. */
  def areThere(session: SparkSession, told: JList[String]): Boolean = {
    val known = told.asScala.toSeq.map(_.split(" ", 2)).map { case Array(length, path) => length.toLong -> path }
    known.isEmpty || {
      val (files, _) = opened(session, known.head._2)
      def isThere(length: Long, path: String) =
        try files.getFileStatus(new Path(path)).getLen == length catch { case _: FileNotFoundException => false }
      if (known.size < 16) known.forall((isThere _).tupled) else known.par.forall((isThere _).tupled)
    }
  }

  private def opened(session: SparkSession, path: String): (FileSystem, Path) = {
    val at = new Path(path)
    (at.getFileSystem(Access.classic(session).sessionState.newHadoopConf()), at)
  }
}
