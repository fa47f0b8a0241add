package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access

/** Files at a path, which no catalog knows. */
private[spark] object Paths extends TableFormat {
  override val name = "path"

  override def identify(known: Lookup, name: Name): Boolean = name.isInstanceOf[PathName]

  override def look(session: SparkSession, known: Lookup, asked: Asked): Looked = {
    val place = path(Names.named(asked.table))
    val state = Sinks.files(session, place).fold(Files.stateOf(session, place))(Files.described(Some(place), _))
    Fact(
      asked.table, kind = name, created = 0, schema = FileFormats.owned(session, place).getOrElse(""),
      snapshot = state.fingerprint, partitions = Files.placed(session, Seq(FoundPartition.whole(state))))
  }

  override def renew(session: SparkSession, name: Name): Unit =
    Access.classic(session).catalog.refreshByPath(path(name).toString)

  private def path(name: Name): Path = name match {
    case PathName(path) => new Path(path)
    case other => throw new IllegalArgumentException(s"not a path: $other")
  }
}
