package io.headwater.spark

import java.io.FileNotFoundException

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsNamespaces, TableCatalog}
import org.apache.spark.sql.headwater.Access

/** The catalogs that a session knows, and the lake formats of their tables. */
object Catalogs {
  private val Setting = """spark\.sql\.catalog\.([^.]+)""".r

  /** The names of all catalogs that the session's settings name, whether they can be reached or not. */
  def names(session: SparkSession): Seq[String] =
    (Access.classic(session).conf.getAll.keySet.collect { case Setting(name) => name } + Names.SessionCatalog).toSeq.sorted

  /**
   * Asks a catalog, in its session: Spark, and some catalogs, look at the settings of the thread's own.
   *
   * @throws org.apache.spark.SparkException when the session knows no such catalog
   */
  private[spark] def of[T](session: SparkSession, name: String)(ask: TableCatalog => T): T = {
    val classic = Access.classic(session)
    classic.withActive {
      classic.sessionState.catalogManager.catalog(name) match {
        case tables: TableCatalog => ask(tables)
        case other => throw new IllegalArgumentException(s"the catalog ${other.name} has no tables")
      }
    }
  }

  /** The catalogs of a format's own, besides the session's, which the metastore lists. */
  private[spark] def made(session: SparkSession): Seq[String] =
    names(session).filter(each => each != Names.SessionCatalog && maker(session, each).nonEmpty)

  /**
   * The catalog that has the tables of a format alone. Iceberg's session catalog has another one behind it, which may keep its
   * tables elsewhere than in the metastore, and lists those of the metastore only.
   */
  private[spark] def behind(tables: TableCatalog): TableCatalog =
    Reflected.field(tables, "icebergCatalog").collect { case own: TableCatalog => own }.getOrElse(tables)

  /** Whether the session catalog has lake tables that the metastore does not know. Those of Iceberg are in it by default. */
  private[spark] def keepsElsewhere(session: SparkSession): Boolean = {
    val kinds = Seq("type", "catalog-impl").flatMap(each => Access.setting(session, s"spark.sql.catalog.${Names.SessionCatalog}.$each"))
    maker(session, Names.SessionCatalog).nonEmpty && kinds.nonEmpty && !kinds.exists(each => InMetastore.exists(_.equalsIgnoreCase(each)))
  }

  private val InMetastore = Seq("hive", "org.apache.iceberg.hive.HiveCatalog")

  /** The format whose classes a catalog is of; none if the format has no catalogs of its own. */
  private[spark] def maker(session: SparkSession, catalog: String): Option[Format] =
    Access.setting(session, s"spark.sql.catalog.$catalog").flatMap(Format.ofClass)

  /**
   * A catalog that is a directory finds none of its tables while the directory is away. They are not gone.
   *
   * @throws org.apache.spark.SparkException when the directory of such a catalog cannot be listed
   */
  def requireDirectory(session: SparkSession, catalog: String): Unit = if (isDirectory(session, catalog)) of(session, catalog) {
    case named: SupportsNamespaces =>
      try named.listNamespaces()
      catch {
        case NonFatal(error) => throw new SparkException(
          s"the catalog $catalog cannot list its directory (${Failures.line(error)}); make the directory reachable", error)
      }
    case _ =>
  }

  /**
   * The tables whose files lie in the directory of a table, by their names within it: those of the namespace `d.v` lie in
   * that of `d.v` where the catalog is a directory. Its format deletes the whole directory with a table. It is looked at as deep
   * as a namespace in `v` has tables.
   *
   * @return a JSON list
   */
  def within(session: SparkSession, key: String): String = Wire.encode(Names.named(key) match {
    case table: TableName if isDirectory(session, table.catalog) =>
      Access.setting(session, s"spark.sql.catalog.${table.catalog}.warehouse").fold(Seq.empty[String]) { warehouse =>
        val top = (table.namespace :+ table.name).foldLeft(new Path(warehouse))(new Path(_, _))
        val files = top.getFileSystem(Access.classic(session).sessionState.newHadoopConf())
        def folders(at: Path): Seq[Path] =
          try files.listStatus(at).toSeq.filter(_.isDirectory).map(_.getPath) catch { case _: FileNotFoundException => Nil }
        def tables(at: Path): Seq[Seq[String]] = folders(at).filter(each => files.exists(new Path(each, "metadata"))).map(each => Seq(each.getName))
        val own = Set("data", "metadata", ".totals")
        val inner = folders(top).filterNot(each => own(each.getName)).flatMap(each => tables(each).map(each.getName +: _))
        (tables(top) ++ inner).map(Names.spelled).sorted
      }
    case _ => Nil
  })

  private def isDirectory(session: SparkSession, catalog: String): Boolean = maker(session, catalog).nonEmpty &&
    Seq("type" -> "hadoop", "catalog-impl" -> "org.apache.iceberg.hadoop.HadoopCatalog").exists { case (option, value) =>
      Access.setting(session, s"spark.sql.catalog.$catalog.$option").exists(_.equalsIgnoreCase(value))
    }

  /**
   * The lake formats that tables of a catalog can have.
   *
   * @return a JSON list of names
   */
  def formats(session: SparkSession, catalog: String): String = of(session, catalog) { tables =>
    val classes = Iterator.iterate[Class[_]](tables.getClass)(_.getSuperclass).takeWhile(_ != null).map(_.getName).toSeq
    Wire.encode(Format.all.filter(each => classes.exists(each.made)).map(_.name))
  }
}
