package io.headwater.spark

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MetadataLogFileIndex
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.StructType

/**
 * Directories that streams write. A stream lists its files in a log there, a batch at a time, and Spark reads those that the
 * log lists, no others: not one whose batch is still to be committed, nor one that somebody else put there.
 */
private[spark] object Sinks {

  /** The files that the log lists, with their names relative to the directory; none if no stream writes there. */
  def files(session: SparkSession, directory: Path, schema: Option[StructType] = None): Option[Seq[(String, FileStatus)]] = {
    val classic = Access.classic(session)
    val state = classic.sessionState
    Option.when(FileStreamSink.hasMetadata(Seq(directory.toString), state.newHadoopConf(), state.conf)) {
      val files = new MetadataLogFileIndex(classic, directory, Map.empty, schema).allFiles()
      val root = directory.toUri.getPath.stripSuffix("/") + "/"
      files.map(file => file.getPath.toUri.getPath.stripPrefix(root) -> file)
    }
  }

  /**
   * The state of a Hive table without partitions. Spark lists its directory, or reads the log of a stream where it reads the
   * table with classes of its own: what both say counts.
   */
  def stateOfHive(session: SparkSession, directory: Path): FileState =
    files(session, directory).fold(Files.stateOf(session, directory)) { logged =>
      val listed = Files.data(Access.classic(session).sessionState.newHadoopConf(), directory)
      Files.described(Some(directory), listed ++ logged.map { case (name, file) => s"in the log: $name" -> file })
    }

  /** The files by the partition that their directories name; none if one does not name just these columns. */
  def byPartition(files: Seq[(String, FileStatus)], columns: Seq[String])
      : Option[Map[Partitions.Spec, Seq[(String, FileStatus)]]] = {
    val named = files.groupBy { case (name, _) => Partitions.parsed(name.split("/").init.toSeq, columns) }
    Option.when(!named.contains(None))(named.map { case (spec, those) => spec.get -> those })
  }
}
