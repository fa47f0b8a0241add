package io.headwater.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.headwater.{PlannedApart, Spent, Tallied}

/**
 * A query's rows, counted by partition (and hashed, if asked for) in the pass in which they are written.
 *
 * @param exact whether partition columns keep their values; else they have those that directories named by them give back
 * @param weight the column that tells how often a row counts; empty if each counts once
 */
class Counted(
    frame: DataFrame, columns: java.util.List[String], hashed: Boolean, exact: Boolean, weight: String) {
  private val names = columns.asScala.toList
  private val (rows, tally) = Tallied.of(frame, names, hashed, exact, Option(weight).filter(_.nonEmpty))

  def counted: DataFrame = rows

  /** A JSON list of [[CountedPartition]], of what was written. */
  def sums: String = Wire.encode(tally.value.toList.map { case (values, sum) =>
    CountedPartition(names.zip(values.map(Option(_))).toMap, sum.rows, if (hashed) sum.hex else "")
  })

  /** How long moving bytes took, when that was written: [[Moving]] as JSON. */
  def spent: String = Wire.encode(Moving(
    Spent.reads(tally).map(each =>
      TableRead(each.table, each.place, each.bytes, each.micros, each.needs.map(Extract.of), each.share)),
    Spent.writing(tally)))
}

object Counted {

  /** The rows of a query, to be written into a table of another catalog than Spark's own. */
  def apart(frame: DataFrame): DataFrame = PlannedApart(frame, files => LakeRelations.format(files).nonEmpty)
}

/** The content of a partition: its rows, and the sum of their hashes, if they were hashed. */
final case class CountedPartition(values: Map[String, Option[String]], rows: Long, content: String)

/** What was read, by table, and µs for which tasks went on when they had all rows. */
final case class Moving(reads: Seq[TableRead], writing: Long)

/** Bytes of a table's files, or of files at a place that are no table's, and what of them was needed. */
final case class TableRead(
    table: Option[String], place: String, bytes: Long, micros: Long, needs: Option[Extract], share: Double)
