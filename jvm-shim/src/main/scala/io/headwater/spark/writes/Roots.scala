package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.io.IOUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access

/**
 * The directory of a view that a write reaches.
 *
 * @param in the written directory, if the view's lies in it
 */
private[spark] final case class Touched(root: String, in: Option[String]) {
  /** For a person. */
  def words: String = root + in.fold("")(each => s", which lies in the written directory $each,")
}

/**
 * The directories that Headwater owns, one for each view. A file in it, [[Marker]], names the owner. Only the versions in a
 * marked directory are ever deleted: whatever else somebody puts there stays.
 */
object Roots {
  private val Marker = ".headwater"
  private val Totals = ".totals"
  /** The bytes of a marker: the owner is a UUID in hexadecimal digits. */
  private val Owner = 32
  private val Version = """\.v\d+""".r

  /** Takes a directory that does not exist; whether it could be taken. An empty one may be a table's without rows. */
  def claim(session: SparkSession, root: String, owner: String): Boolean = {
    val (fs, top) = at(session, root)
    !fs.exists(top) && {
      fs.mkdirs(top)
      val out = fs.create(marker(top), false)
      try out.write(owner.getBytes(UTF_8)) finally out.close()
      true
    }
  }

  /** Gives a directory up: its versions go, and it too if nothing else is in it. */
  def release(session: SparkSession, root: String, owner: String): Unit = {
    val (fs, top) = at(session, root)
    if (owns(fs, top, owner)) {
      fs.listStatus(top).map(_.getPath).filter(path => isVersion(path) || path.getName == Totals).foreach(fs.delete(_, true))
      fs.delete(marker(top), false)
      if (fs.listStatus(top).isEmpty) fs.delete(top, false)
    }
  }

  /**
   * Deletes directories of versions, or in them, with those above that are empty then.
   * @param paths a JSON list; what is not of a version below `root` stays
   */
  def delete(session: SparkSession, root: String, owner: String, paths: String): Unit =
    TableFormats.ofViews.expire(session, root, owner, Wire.decode[List[String]](paths))

  private[spark] def delete(session: SparkSession, root: String, owner: String, paths: Seq[String]): Unit = {
    val (fs, top) = at(session, root)
    if (owns(fs, top, owner))
      paths.map(each => fs.makeQualified(new Path(each)))
        .filter(path => within(top, path).exists(isVersion))
        .foreach { path =>
          fs.delete(path, true)
          within(top, path).tail.foreach(above => if (fs.exists(above) && fs.listStatus(above).isEmpty) fs.delete(above, false))
        }
  }

  /**
   * The view's directory that a write to a place reaches: the place lies in it or, if the write replaces what is there, it
   * lies in the place. A directory that cannot be looked at is left to the statement itself.
   */
  private[spark] def touched(session: SparkSession, place: Place): Option[Touched] = Try {
    val (fs, top) = at(session, place.path.toString)
    // A directory of that name beside the tables of a warehouse is the store's, and so may be a file. Neither marks a view.
    def marked(each: Path) = Try(fs.getFileStatus(marker(each))).toOption.exists(found => found.isFile && found.getLen == Owner)
    def isView(each: Path) = marked(each) || LakeRoots.isView(session, each)
    // Nothing is listed before it is looked at: there may be many folders.
    def below = folders(fs, top).flatMap(each => Iterator.single(each) ++ folders(fs, each))
    Iterator.iterate(top)(_.getParent).takeWhile(_ != null).find(marked)
      .orElse(LakeRoots.around(top).filterNot(place.asFiles && _ == top).find(LakeRoots.isView(session, _)))
      .map(root => Touched(root.toString, None))
      .orElse(if (place.replaces) below.find(isView).map(root => Touched(root.toString, Some(top.toString))) else None)
  }.toOption.flatten

  /** Those in a directory that may be a database or a table; a partition of a table is neither. */
  private def folders(fs: FileSystem, top: Path): Iterator[Path] =
    Try(fs.listStatus(top).toSeq).getOrElse(Nil).iterator.filter(_.isDirectory).map(_.getPath)
      .filterNot(path => path.getName.contains("=") || path.getName.startsWith("_") || path.getName.startsWith("."))

  /** The path and those above it, up to the one right below a directory; none when it does not lie there. */
  private def within(top: Path, path: Path): Seq[Path] = {
    val above = Iterator.iterate(path)(_.getParent).takeWhile(_ != null).toSeq
    if (above.contains(top)) above.takeWhile(_ != top) else Nil
  }

  private def isVersion(path: Path): Boolean = Version.matches(path.getName)

  private def owns(fs: FileSystem, top: Path, owner: String): Boolean = fs.exists(marker(top)) && {
    val in = fs.open(marker(top))
    try new String(IOUtils.readFullyToByteArray(in), UTF_8) == owner finally in.close()
  }

  private def marker(top: Path): Path = new Path(top, Marker)

  private def at(session: SparkSession, root: String): (FileSystem, Path) = {
    val path = new Path(root)
    val fs = path.getFileSystem(Access.classic(session).sessionState.newHadoopConf())
    (fs, fs.makeQualified(path))
  }
}
