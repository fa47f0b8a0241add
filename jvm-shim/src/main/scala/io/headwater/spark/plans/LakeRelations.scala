package io.headwater.spark

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructField, StructType}

/**
 * Which format a relation is of, and what it reads of its table, if not its rows as they are now: an *aspect*. Classes are known by
 * name and members by reflection, because the shim is compiled against neither format.
 */
private[spark] object LakeRelations {
  private val OptionsOfSnapshots = Set(
    "snapshot-id", "as-of-timestamp", "tag", "start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp",
    "versionasof", "timestampasof")

  /** The format whose log lists the files of a relation. */
  def format(files: HadoopFsRelation): Option[Format] = Format.all.find(_.relations == files.location.getClass.getName)

  /**
   * By name, the columns as the log knows them where names may change: one that was dropped and added again is another one.
   */
  def identities(files: HadoopFsRelation): Map[String, String] = {
    def within(path: String, fields: Seq[StructField]): Seq[String] = fields.flatMap { field =>
      val own = Option.when(field.metadata.contains(Physical))(field.metadata.getString(Physical)).filter(_ != field.name)
      own.map(physical => s"$path${field.name}=$physical") ++ nested(s"$path${field.name}.", field.dataType)
    }
    def nested(path: String, kind: DataType): Seq[String] = kind match {
      case StructType(fields) => within(path, fields.toSeq)
      case ArrayType(element, _) => nested(path, element)
      case MapType(key, value, _) => nested(s"${path}key.", key) ++ nested(s"${path}value.", value)
      case _ => Nil
    }
    val schema = for {
      metadata <- Reflected(files.location, "metadata").collect { case found: AnyRef => found }
      schema <- Reflected(metadata, "schema").collect { case found: StructType => found }
    } yield schema
    schema.toSeq.flatMap(_.fields).map(field => field.name -> within("", Seq(field)).mkString("; "))
      .filter(_._2.nonEmpty).toMap
  }

  private val Physical = "delta.columnMapping.physicalName"

  /** The format of a table of its own catalog. */
  def format(table: Table): Option[Format] = Format.ofClass(table.getClass.getName)

  /** The aspect of a relation of Delta's own classes. */
  def aspect(relation: AnyRef): Option[String] = relation match {
    case files: HadoopFsRelation => Option.when(Reflected(files.location, "isTimeTravelQuery").forall(_ == true))("snapshot")
    case other => Option.when(FileFormats.simple(other) == "DeltaCDFRelation")("changes")
  }

  def aspect(relation: DataSourceV2Relation): Option[String] = {
    val options = relation.options.asCaseSensitiveMap.asScala.keys.map(_.toLowerCase).toSet
    if (relation.timeTravelSpec.nonEmpty || options.exists(OptionsOfSnapshots)) Some("snapshot")
    else if (format(relation.table).isEmpty) None
    else if (FileFormats.simple(relation.table) == "SparkChangelogTable") Some("changes")
    else if (Reflected(relation.table, "table").forall(isMetadata)) Some("metadata")
    else if (options("branch") || Reflected(relation.table, "branch").forall(_ != null)) Some("branch")
    else Option.when(travels(relation.table))("snapshot")
  }

  /** Older classes name a snapshot only if the query does, newer ones always. */
  private def travels(table: Table): Boolean =
    Reflected.field(table, "timeTravel").orElse(Reflected(table, "snapshotId")).forall(_ != null)

  private def isMetadata(table: Any): Boolean =
    Iterator.iterate[Class[_]](table.getClass)(_.getSuperclass).takeWhile(_ != null).exists(_.getSimpleName == "BaseMetadataTable")
}

/** Members of objects whose classes the shim does not know. */
private[spark] object Reflected {

  /** The value of a member without parameters; none if the object has no such member. */
  def apply(of: AnyRef, member: String): Option[Any] = found(of.getClass.getMethod(member).invoke(of))

  /** The same of a private field, of the object's class or of one above it. */
  def field(of: AnyRef, name: String): Option[Any] =
    Iterator.iterate[Class[_]](of.getClass)(_.getSuperclass).takeWhile(_ != null).flatMap { each =>
      found {
        val field = each.getDeclaredField(name)
        field.setAccessible(true)
        field.get(of)
      }
    }.nextOption()

  /** A class whose members name one that cannot be loaded has none. */
  private def found(value: => Any): Option[Any] =
    try Some(value) catch { case NonFatal(_) | _: LinkageError => None }
}
