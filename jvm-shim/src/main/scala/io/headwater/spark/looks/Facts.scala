package io.headwater.spark

import org.apache.hadoop.fs.Path

/**
 * A table to look at: all of it if `whole` or without `partitions`, else those, or those that agree with a partial one.
 *
 * @param since the snapshot on record
 */
final case class Asked(
    table: String, partitions: Option[Seq[Map[String, Option[String]]]] = None, whole: Boolean = false, since: String = "")

/** The answer to a look. */
sealed trait Looked

final case class Missing(table: String, exists: Boolean = false) extends Looked

final case class Unreadable(table: String, unreadable: String) extends Looked

/**
 * A table, an ordinary view, a path or a function, as it was found.
 *
 * @param created tells it from its successor of the same name
 * @param schema changes with its columns, its format and, if it has one, its text
 * @param snapshot the source's own value for this state; empty unless the whole table was seen
 * @param readable whether the table can be read at that snapshot later
 * @param added bytes of the files that came since the snapshot on record; none if others went, or nobody can say
 * @param asked the partitions that were asked for, in Spark's spelling
 * @param whole whether all partitions were listed
 */
final case class Fact(
    table: String,
    exists: Boolean = true,
    kind: String,
    created: Long,
    schema: String,
    snapshot: String = "",
    readable: Boolean = false,
    added: Option[Long] = None,
    location: Option[String] = None,
    properties: Map[String, String] = Map.empty,
    partition_columns: Seq[NamedType] = Nil,
    asked: Seq[Map[String, Option[String]]] = Nil,
    whole: Boolean = true,
    partitions: Seq[FoundPartition] = Nil) extends Looked

final case class NamedType(name: String, `type`: String)

/**
 * @param values in the spelling in which Spark would write them; `spec` has them as the catalog does
 * @param away whether nothing is at its location
 */
final case class FoundPartition(
    values: Map[String, Option[String]],
    spec: Map[String, String],
    version: Option[Long],
    fingerprint: String,
    location: Option[String],
    files: Long,
    bytes: Long,
    away: Boolean = false) {

  /** The same, with whether it is there. */
  def placed(exists: Path => Boolean): FoundPartition =
    if (files > 0) this else copy(away = location.exists(each => !exists(new Path(each))))

  /** The same with what says how its files are read. */
  def read(how: String): FoundPartition = if (how.isEmpty) this else copy(fingerprint = s"$fingerprint $how")
}

object FoundPartition {
  /** The only partition of what has no partition columns. */
  def whole(state: FileState): FoundPartition = of(Map.empty, Map.empty, None, state)

  def of(values: Map[String, Option[String]], spec: Map[String, String], version: Option[Long], state: FileState): FoundPartition =
    FoundPartition(values, spec, version, state.fingerprint, state.location, state.files, state.bytes)
}

/** The files of a directory: a fingerprint that differs when they do, how many there are, and their bytes. */
final case class FileState(fingerprint: String, location: Option[String], files: Long, bytes: Long)

/** A partition directory that a write left. */
final case class Directory(values: Map[String, Option[String]], fingerprint: String, location: String, files: Long, bytes: Long)

/** A materialized view that the catalog holds, with its Headwater properties. */
final case class CatalogView(table: String, created: Long, properties: Map[String, String])
