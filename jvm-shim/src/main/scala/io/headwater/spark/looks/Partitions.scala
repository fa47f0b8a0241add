package io.headwater.spark

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.execution.datasources.PartitioningUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{StringType, StructField, StructType, TimestampType}

/** Partitions that a table's catalog lists, under the values that their names mean: `month=05` of an INT column is 5. */
private[spark] final class Partitions(session: SparkSession, table: CatalogTable) {
  import Partitions._

  // Not the session's own catalog, which asks the metastore for the database and the table before each list.
  private val catalog = Access.classic(session).sharedState.externalCatalog

  private def inCatalog(spec: Option[Partitions.Spec]): Seq[CatalogTablePartition] =
    catalog.listPartitions(table.database, table.identifier.table, spec)

  /** All partitions, or those that were asked for; specs may leave columns open. */
  def state(asked: Asked): Listed = {
    val specs = this.specs(asked)
    val all = asked.whole || specs.isEmpty
    val listed = if (all) inCatalog(None) else those(specs)
    val states = Files.states(session, listed.map(_.storage.locationUri.map(new Path(_))))
    Listed(specs.map(canonical), all, listed.zip(states).map { case (partition, state) =>
      val version = partition.parameters.get("headwater.version").map(_.toLong)
      described(partition.spec, version, state).read(Reading.of(table, partition.storage))
    })
  }

  /** The same of a table that a stream writes, whose partitions no catalog lists: its files lie in directories named by them. */
  def streamed(root: Path, files: Seq[(String, FileStatus)], asked: Asked): Listed =
    Sinks.byPartition(files, table.partitionColumnNames) match {
      case Some(those) if table.partitionColumnNames.nonEmpty =>
        Listed(specs(asked).map(canonical), whole = true, those.toSeq.map { case (spec, files) =>
          described(spec, None, Files.described(Some(files.head._2.getPath.getParent), files))
        })
      case _ => Listed.whole(Files.described(Some(root), files))
    }

  private def described(spec: Spec, version: Option[Long], state: FileState): FoundPartition =
    FoundPartition.of(canonical(spec), spec, version, state)

  private def specs(asked: Asked): Seq[Spec] = asked.partitions.getOrElse(Nil).map(spelled)

  /**
   * The partitions that agree with one of some specs. They are listed as they were said, and as Spark would have written
   * them. The names of all partitions are read only for a spec that finds nothing so: its value may be spelled otherwise.
   */
  private def those(specs: Seq[Spec]): Seq[CatalogTablePartition] = {
    val spellings = specs ++ specs.map(spec => canonical(spec).map { case (column, value) => column -> value.getOrElse(Null) })
    val found = spellings.distinct.flatMap(spec => inCatalog(Some(spec))).distinctBy(_.spec)
    val values = found.map(each => canonical(each.spec))
    val missing = specs.map(canonical).filterNot(asked => values.exists(agrees(_, asked)))
    if (missing.isEmpty) found
    else {
      val names = catalog.listPartitionNames(table.database, table.identifier.table).map(PartitioningUtils.parsePathFragment)
      val others = names.filter { spec => val each = canonical(spec); missing.exists(agrees(each, _)) }
      (found ++ others.flatMap(spec => inCatalog(Some(spec)))).distinctBy(_.spec)
    }
  }

  /** The spec with the table's own spelling of its columns. */
  private def spelled(spec: Values): Spec = spec.map { case (column, value) =>
    table.partitionColumnNames.find(_.equalsIgnoreCase(column)).getOrElse(column) -> value.filter(_.nonEmpty).getOrElse(Null)
  }

  private def canonical(spec: Spec): Values = Partitions.canonical(table.partitionSchema, spec)
}

/** Partitions of a table, all or those that were asked for. */
private[spark] final case class Listed(asked: Seq[Partitions.Values], whole: Boolean, partitions: Seq[FoundPartition])

private[spark] object Listed {
  /** The only partition of what has no partition columns. */
  def whole(state: FileState): Listed = Listed(Nil, whole = true, Seq(FoundPartition.whole(state)))
}

private[spark] object Partitions {
  type Spec = Map[String, String]
  type Values = Map[String, Option[String]]

  val Null = "__HIVE_DEFAULT_PARTITION__"

  /**
   * Partition values as Spark itself would write them. A time is taken as it is on a clock that skips no hour: in the
   * session's zone, an hour that it skips would become the next one, which is another partition. A decimal is spelled as
   * with ANSI, without an exponent: zero of seven digits has two texts otherwise, `0E-7` and `0.0000000`. A time with an
   * offset, such as `10:00:00Z`, has another text in each zone, so its column is left open: the partition may be any.
   */
  private def canonical(schema: StructType, spec: Spec): Values =
    schema.fields.flatMap { field =>
      spec.find(_._1.equalsIgnoreCase(field.name)).filterNot { case (_, text) => hasOffset(field, text) }.map { case (_, text) =>
        val typed = Cast(Literal(text), field.dataType, Clock, ansiEnabled = false)
        val value = Option(Cast(typed, StringType, Clock, ansiEnabled = true).eval()).map(_.toString)
        field.name -> value.filter(_ => text != null && text != Null)
      }
    }.toMap

  private val Clock = Some("UTC")
  private val OtherClock = Some("+01:00")

  /** Whether a text means the same moment in all zones. */
  private def hasOffset(field: StructField, text: String): Boolean = field.dataType == TimestampType && {
    val Seq(here, there) = Seq(Clock, OtherClock).map(Cast(Literal(text), TimestampType, _, ansiEnabled = false).eval())
    here != null && here == there
  }

  /** The spec that directories named `column=value` say, if they are of just these columns. */
  def parsed(directories: Seq[String], columns: Seq[String]): Option[Spec] = {
    val found = directories.map(_.split("=", 2)).collect { case Array(column, value) =>
      unescapePathName(column) -> unescapePathName(value)
    }
    val own = found.flatMap { case (column, value) => columns.find(_.equalsIgnoreCase(column)).map(_ -> value) }.toMap
    Option.when(directories.size == columns.size && own.size == columns.size)(own)
  }

  private def agrees(values: Values, asked: Values): Boolean =
    asked.forall { case (column, value) => values.get(column).contains(value) }
}
