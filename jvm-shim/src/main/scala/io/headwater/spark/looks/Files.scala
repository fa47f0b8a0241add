package io.headwater.spark

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.concurrent.{Callable, Executors}

import scala.collection.parallel.CollectionConverters._
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.headwater.Access

/** µs in which bytes are written and read. */
final case class Probed(write: Double, read: Double)

/** Listings of directories: what files there are, and a fingerprint that differs when they do. */
object Files {

  def state(session: SparkSession, directory: Option[Path]): FileState = states(session, Seq(directory)).head

  /** The state of what Spark reads by a path itself: a directory, a file, or a glob that stands for several. */
  def stateOf(session: SparkSession, path: Path): FileState = described(Some(path), of(session, path))

  /** Whether a path, which may be a glob, stands for anything. A directory without files is empty; one that is not there is away. */
  private def exists(conf: Configuration, path: Path): Boolean = {
    val files = path.getFileSystem(conf)
    files.exists(path) || Option(files.globStatus(path)).exists(_.nonEmpty)
  }

  /** The files of the same, under names that tell one from another. */
  def of(session: SparkSession, path: Path): Seq[(String, FileStatus)] = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    val roots = Option(path.getFileSystem(conf).globStatus(path)).map(_.toSeq).getOrElse(Nil)
    roots.flatMap {
      case file if file.isFile => Seq(file.getPath.toString -> file)
      case directory => data(conf, directory.getPath)
    }
  }

  /** One state a directory, listed side by side when there are many. */
  def states(session: SparkSession, directories: Seq[Option[Path]]): Seq[FileState] = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    sideBySide(directories)(state(conf, _))
  }

  /** These with whether they are there, for those without files. */
  private[spark] def placed(session: SparkSession, partitions: Seq[FoundPartition]): Seq[FoundPartition] = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    sideBySide(partitions)(_.placed(exists(conf, _)))
  }

  /** The files of directories, under names that tell one from another. */
  private[spark] def listed(session: SparkSession, directories: Seq[Path]): Seq[Seq[(String, FileStatus)]] = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    sideBySide(directories)(data(conf, _))
  }

  private def sideBySide[A, B](all: Seq[A])(look: A => B): Seq[B] =
    if (all.size < 32) all.map(look) else all.par.map(look).seq

  private def state(conf: Configuration, directory: Option[Path]): FileState =
    described(directory, directory.map(data(conf, _)).getOrElse(Nil))

  /** The state of a directory with these files, under names that tell one from another. */
  private[spark] def described(directory: Option[Path], files: Seq[(String, FileStatus)]): FileState = {
    val lines = files.map { case (name, file) => s"$name ${file.getLen} ${file.getModificationTime}\n" }.sorted
    FileState(digest(lines ++ directory.map(_.toString)), directory.map(_.toString), files.size, files.map(_._2.getLen).sum)
  }

  /** A value that is equal while each of a table's partitions has the same files. Files have no order, so it tells no more. */
  private[spark] def snapshot(partitions: Seq[FoundPartition]): String =
    digest(partitions.map(each => s"${each.spec.toSeq.sorted.mkString("/")} ${each.fingerprint}\n").sorted)

  private def digest(lines: Seq[String]): String = {
    val digest = MessageDigest.getInstance("MD5")
    lines.foreach(line => digest.update(line.getBytes(StandardCharsets.UTF_8)))
    digest.digest().map(byte => f"$byte%02x").mkString
  }

  /** The files Spark would read below a directory, with their relative names. */
  private[spark] def data(conf: Configuration, directory: Path): Seq[(String, FileStatus)] = {
    val fs = directory.getFileSystem(conf)
    def below(path: Path, prefix: String): Seq[(String, FileStatus)] =
      fs.listStatus(path).toSeq.filterNot(status => hidden(status.getPath.getName)).flatMap { status =>
        val name = prefix + status.getPath.getName
        if (status.isDirectory) below(status.getPath, name + "/") else Seq(name -> status)
      }
    try below(directory, "") catch { case _: java.io.FileNotFoundException => Nil }
  }

  private def hidden(name: String): Boolean =
    (name.startsWith("_") && !name.contains("=")) || name.startsWith(".") || name.endsWith("._COPYING_")

  /**
   * The partition directories that a write of `columns` levels made below `root`.
   * @return a JSON list of [[Directory]]
   */
  def written(session: SparkSession, root: String, columns: Int): String = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    val fs = new Path(root).getFileSystem(conf)
    def leaves(path: Path, depth: Int): Seq[Path] =
      if (depth == 0) Seq(path)
      else fs.listStatus(path).toSeq.filter(s => s.isDirectory && s.getPath.getName.contains("="))
        .flatMap(s => leaves(s.getPath, depth - 1))
    val paths = if (fs.exists(new Path(root))) leaves(new Path(root), columns) else Nil
    val states = this.states(session, paths.map(Some(_)))
    Wire.encode(paths.zip(states).map { case (path, state) =>
      Directory(values(path, columns), state.fingerprint, path.toString, state.files, state.bytes)
    })
  }

  private def values(path: Path, columns: Int): Map[String, Option[String]] =
    Iterator.iterate(path)(_.getParent).take(columns).map(_.getName).toList.reverse.map { name =>
      val Array(column, value) = name.split("=", 2)
      unescapePathName(column) -> Option(unescapePathName(value)).filter(_ != Partitions.Null)
    }.toMap

  /** Makes a directory, and those above it. */
  def make(session: SparkSession, path: String): Unit = {
    val made = new Path(path)
    made.getFileSystem(Access.classic(session).sessionState.newHadoopConf()).mkdirs(made)
  }

  /** Removes a file, or a directory with all that is in it. */
  def delete(session: SparkSession, path: String): Unit = {
    val gone = new Path(path)
    gone.getFileSystem(Access.classic(session).sessionState.newHadoopConf()).delete(gone, true)
  }

  /**
   * How long it takes to write and to read so many bytes in a directory, which is made if it is not there, shared by files
   * that are written and read side by side.
   * @return [[Probed]] as JSON
   */
  def probe(session: SparkSession, directory: String, bytes: Int, streams: Int): String = {
    val conf = Access.classic(session).sessionState.newHadoopConf()
    val paths = Seq.fill(streams)(new Path(directory, s".headwater-${java.util.UUID.randomUUID}"))
    val fs = paths.head.getFileSystem(conf)
    val pool = Executors.newFixedThreadPool(streams)
    def micros(work: Path => Unit): Double = {
      val began = System.nanoTime
      val tasks = paths.map(path => new Callable[Unit] { override def call(): Unit = work(path) })
      pool.invokeAll(tasks.asJava).forEach(_.get())
      (System.nanoTime - began) / 1000.0
    }
    try {
      val write = micros { path =>
        val out = fs.create(path)
        val content = new Array[Byte](1 << 16)
        try (0 until bytes / streams by content.length).foreach(_ => out.write(content)) finally out.close()
      }
      val read = micros { path =>
        val in = fs.open(path)
        val content = new Array[Byte](1 << 16)
        try while (in.read(content) >= 0) {} finally in.close()
      }
      Wire.encode(Probed(write, read))
    } finally {
      pool.shutdown()
      paths.foreach(fs.delete(_, false))
    }
  }

  /** Names of the entries directly below a directory; empty when it does not exist. */
  def names(session: SparkSession, root: String): String = {
    val path = new Path(root)
    val fs = path.getFileSystem(Access.classic(session).sessionState.newHadoopConf())
    Wire.encode(if (fs.exists(path)) fs.listStatus(path).map(_.getPath.getName).toList else Nil)
  }
}
