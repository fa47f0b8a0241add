package org.apache.spark.sql.headwater

import java.util.{Iterator => JavaIterator}

import scala.util.Try

import io.headwater.spark.{Application, CommandKind, DirectWriteGuard, Hint, Internal, Names}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedProcedure, UnresolvedProcedure}
import org.apache.spark.sql.catalyst.plans.logical.{Call, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, Identifier, LookupCatalog, ProcedureCatalog}
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.types.{StringType, StructType}

/**
 * Lets each procedure of a catalog tell which table it was called for, when it is done:
 * `CALL lake.system.rollback_to_snapshot('db.t', 1)`.
 *
 * Spark calls a procedure while it analyses the statement, and announces nothing. The rule comes before that.
 */
case class WatchedProcedures(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  override protected lazy val catalogManager: CatalogManager = Access.classic(session).sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case call @ Call(UnresolvedProcedure(CatalogAndIdentifier(catalog: ProcedureCatalog, name)), _, _) if !Internal.is(session) =>
      val watched = Try(catalog.loadProcedure(name)).map { found =>
        call.copy(procedure = ResolvedProcedure(catalog, name, WatchedProcedure(found, Watch(catalog, found.name))))
      }
      watched.getOrElse(call) // Spark says itself that there is no such procedure.
    case _ => plan
  }

  private case class Watch(own: CatalogPlugin, procedure: String) extends Watching {
    override def before(table: String): Unit =
      if (!Harmless.matches(procedure)) key(table).foreach(DirectWriteGuard(session).refuseView)

    override def within(place: String, table: Option[String]): Unit =
      DirectWriteGuard(session).refusePlace(place, table.flatMap(key))

    /** A table that takes over files may delete them later. */
    override def taking(source: String): Unit = if (procedure == "add_files") sourceOfFiles(source).foreach {
      case Left(path) => DirectWriteGuard(session).refusePlace(path, None)
      case Right(table) => DirectWriteGuard(session).refuseView(table)
    }

    override def after(table: String): Unit = key(table).foreach { found =>
      val hint = Hint(table = Some(found), command = s"CALL $procedure", kind = CommandKind.Alter)
      Application.of(session.sparkContext).tell(hint)
    }

    /** The table that the procedure means by a name. Two of them take no account of the catalog in which they are called. */
    private def key(table: String): Option[String] =
      meant(table, if (Anywhere(procedure)) catalogManager.currentCatalog else own).map {
        case (catalog, identifier) => Names.key(catalog.name, identifier)
      }
  }

  private val Anywhere = Set("migrate", "snapshot")

  /** Procedures after which a table has the same rows: anybody may tidy up a view's table. */
  private val Harmless = "rewrite_.*|expire_snapshots|remove_orphan_files|compute_.*|ancestors_of|create_changelog_view".r

  /** The table that a name means where a catalog is the default one, as Iceberg finds it. */
  private def meant(name: String, default: CatalogPlugin): Option[(CatalogPlugin, Identifier)] =
    Try(Access.classic(session).sessionState.sqlParser.parseMultipartIdentifier(name)).toOption.filter(_.nonEmpty).map {
      case Seq(one) =>
        val current = if (catalogManager.currentCatalog == default) catalogManager.currentNamespace else default.defaultNamespace
        (default, Identifier.of(current, one))
      case parts => Try(catalogManager.catalog(parts.head)).toOption match {
        case Some(other) => (other, Identifier.of(parts.tail.init.toArray, parts.last))
        case None => (default, Identifier.of(parts.init.toArray, parts.last))
      }
    }

  /** What `add_files` reads: a path, or the key of a table. Whatever catalog it names, the table is the session catalog's. */
  private def sourceOfFiles(source: String): Option[Either[String, String]] =
    meant(source, catalogManager.v2SessionCatalog).map(_._2).map { found =>
      found.namespace.toSeq match {
        case Seq(Files()) => Left(found.name)
        case Seq() => Right(Names.key(Seq(Access.classic(session).sessionState.catalog.getCurrentDatabase, found.name)))
        case _ => Right(Names.key(Names.SessionCatalog, found))
      }
    }

  private val Files = "(?i)orc|parquet|avro".r
}

/** What is done about each table that a procedure is called for. */
private trait Watching {
  def before(table: String): Unit

  /** A directory that it writes, or cleans up, for the table. */
  def within(place: String, table: Option[String]): Unit

  /** A table or directory whose files the table gets. */
  def taking(source: String): Unit
  def after(table: String): Unit
}

private case class WatchedProcedure(plain: UnboundProcedure, watch: Watching) extends UnboundProcedure {
  override def name: String = plain.name
  override def description: String = plain.description
  override def bind(input: StructType): BoundProcedure = WatchedCall(plain.bind(input), watch)
}

private case class WatchedCall(plain: BoundProcedure, watch: Watching) extends BoundProcedure {
  override def name: String = plain.name
  override def description: String = plain.description
  override def parameters: Array[ProcedureParameter] = plain.parameters
  override def isDeterministic: Boolean = plain.isDeterministic

  override def call(input: InternalRow): JavaIterator[Scan] = {
    val own = texts(input, _ == "table")
    own.foreach(watch.before)
    texts(input, _.endsWith("location")).foreach(watch.within(_, own.headOption))
    texts(input, _ == "source_table").foreach(watch.taking)
    try plain.call(input) finally texts(input, _.contains("table")).foreach(watch.after)
  }

  private def texts(input: InternalRow, named: String => Boolean): Seq[String] = parameters.toSeq.zipWithIndex.collect {
    case (parameter, i) if named(parameter.name) && parameter.dataType == StringType && !input.isNullAt(i) =>
      input.getUTF8String(i).toString
  }
}
