package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.io.IOUtils
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{DataType, StructType}

/** A partition of a version of a view in files; a view without partitions has one with an empty `spec`. */
final case class KeptPartition(spec: Map[String, String], location: String, fingerprint: String, bytes: Long)

/** Where the partitions of a version lie, and how their files are read: the table may be of another definition since. */
final case class KeptVersion(
    partitions: Seq[KeptPartition],
    schema: String,
    partitioned_by: Seq[String],
    format: String,
    options: Map[String, String])

private[spark] object KeptVersion {
  def of(table: CatalogTable, partitions: Seq[KeptPartition]): KeptVersion =
    KeptVersion(partitions, table.schema.json, table.partitionColumnNames, table.provider.get, table.storage.properties)
}

/**
 * Versions of a view in files that can be read after newer ones are published. A publication writes a list of all partitions
 * beside its own files, before readers are sent there. The list names the files by a fingerprint. So a reader finds just the
 * rows of that version, or none.
 *
 * Example: version 9 renews `day=2`. Its list is `<root>/.v9/partitions.json`, and names `.v4/data/day=1` and `.v9/data/day=2`.
 */
private[spark] object FileVersions {
  private val Name = "partitions.json"

  def keep(session: SparkSession, root: String, version: Long, kept: KeptVersion): Unit = {
    val path = list(root, version.toString)
    val out = path.getFileSystem(Access.classic(session).sessionState.newHadoopConf()).create(path, true)
    try out.write(Wire.encode(kept).getBytes(UTF_8)) finally out.close()
  }

  /** A version was not published after all. */
  def forget(session: SparkSession, root: String, version: Long): Unit = Files.delete(session, list(root, version.toString).toString)

  /** The list of a version; none if the clean-up took it, or there never was one. */
  def known(session: SparkSession, root: String, version: String): Option[KeptVersion] = {
    val path = list(root, version)
    val fs = path.getFileSystem(Access.classic(session).sessionState.newHadoopConf())
    if (!fs.exists(path)) None
    else {
      val in = fs.open(path)
      try Some(Wire.decode[KeptVersion](new String(IOUtils.readFullyToByteArray(in), UTF_8))) finally in.close()
    }
  }

  /**
   * A view as it was at a version.
   * @throws FilesGone the version is not there any more
   */
  def read(session: SparkSession, view: String, root: String, version: String, options: Map[String, String]): LogicalPlan = {
    val found = for (entry <- Tables.metadata(session, view); kept <- known(session, root, version)) yield {
      relation(session, entry, s"$root@$version", kept, options)
    }
    found.getOrElse(throw new FilesGone(
      s"version $version of $view is not there: it was cleaned up, or never kept. Members of a group keep versions; " +
        "DESCRIBE MATERIALIZED VIEW GROUP shows their numbers, in the column as_of"))
  }

  /** The rows of the partitions of a version that have other files in another version; `null` if nobody can say. */
  def rows(session: SparkSession, view: String, root: String, version: String, other: String): DataFrame = {
    val found = for {
      entry <- Tables.metadata(session, view)
      mine <- known(session, root, version)
      others <- known(session, root, other)
    } yield {
      val same = others.partitions.toSet
      val differing = mine.copy(partitions = mine.partitions.filterNot(same))
      Access.frame(session)(relation(session, entry, s"$root@$version/$other", differing, Map.empty))
    }
    found.orNull
  }

  /** The directory of a view in files, by its table; none of a table that is no such view. */
  def root(table: CatalogTable): Option[String] =
    if (!Views.is(table) || LakeTables.of(table).nonEmpty) None
    else table.storage.locationUri.map(new Path(_)).map { place =>
      val version = place.getParent
      val moved = table.partitionColumnNames.isEmpty && version != null && version.getName.matches("""\.v\d+""")
      (if (moved) version.getParent else place).toString
    }

  private def list(root: String, version: String): Path = new Path(s"$root/.v$version/$Name")

  private def relation(
      session: SparkSession, table: CatalogTable, id: String, kept: KeptVersion, options: Map[String, String]): LogicalPlan = {
    val read = table.copy(
      storage = table.storage.copy(properties = kept.options ++ options),
      schema = DataType.fromJson(kept.schema).asInstanceOf[StructType],
      provider = Some(kept.format),
      partitionColumnNames = kept.partitioned_by)
    PublishedRelation.over(session, read)(_ => new VersionFiles(session, read, id, kept.partitions))
  }
}

/** Some partitions of a version of a view. Those that a query needs are listed when it runs. */
final class VersionFiles(session: SparkSession, view: CatalogTable, private val id: String, partitions: Seq[KeptPartition])
    extends FileIndex {
  private def classic = Access.classic(session)

  override lazy val rootPaths: Seq[Path] = partitions.map(each => new Path(each.location))

  override def listFiles(filters: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = {
    val zone = classic.sessionState.conf.sessionLocalTimeZone
    val all = partitions.map { each =>
      // Options of the table tell in which zone its directories are named.
      CatalogTablePartition(each.spec, view.storage.copy(locationUri = Some(new Path(each.location).toUri))) -> each
    }
    val wanted =
      if (filters.isEmpty) all
      else {
        val kept = ExternalCatalogUtils.prunePartitionsByFilter(view, all.map(_._1), filters, zone).map(_.spec).toSet
        all.filter(each => kept(each._1.spec))
      }
    wanted.zip(listed(wanted.map(_._2))).map { case ((partition, _), files) =>
      PartitionDirectory(
        partition.toRow(view.partitionSchema, zone), files.filter(_.getLen > 0).map(FileStatusWithMetadata(_)).toArray)
    }
  }

  override def inputFiles: Array[String] = listed(partitions).flatten.map(SparkPath.fromFileStatus(_).urlEncoded).toArray

  override def refresh(): Unit = ()

  override def sizeInBytes: Long = partitions.map(_.bytes).sum

  override def partitionSchema: StructType = view.partitionSchema

  /** Equal reads of one query are made once. */
  override def equals(other: Any): Boolean = other match {
    case files: VersionFiles => files.id == id
    case _ => false
  }

  override def hashCode: Int = id.hashCode

  private def listed(some: Seq[KeptPartition]): Seq[Seq[FileStatus]] = {
    val found = Files.listed(session, some.map(each => new Path(each.location)))
    some.zip(found).map { case (each, files) =>
      val now = Files.described(Some(new Path(each.location)), files).fingerprint
      if (now != each.fingerprint) throw new FilesGone(
        s"a version of ${Names.key(view.identifier)} does not have its files any more: ${each.location} has others, or none")
      files.map(_._2)
    }
  }
}

