package io.headwater.spark

import java.util.Locale

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.execution.command.RunnableCommand
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.sources.{WriteToMicroBatchDataSource, WriteToMicroBatchDataSourceV1}
import org.apache.spark.sql.headwater.Access

/**
 * What a command does to a table that is not one of files.
 *
 * @param words those of the statement, for a person
 * @param changes whether rows, columns or Headwater's own properties may differ afterwards: a view's table allows no such one
 */
private[spark] final case class Change(words: String, kind: CommandKind, target: Target, changes: Boolean, renamed: Option[String] = None)

/**
 * Commands of Spark's for tables of other catalogs, and those that formats have of their own.
 *
 * Delta's are known by the names of their classes. An unknown one that names a table counts as well: a hint decides nothing.
 */
private[spark] object Commands {

  def changes(session: SparkSession, node: LogicalPlan): Seq[Change] = node match {
    case write: V2WriteCommand if isStaged(write.table) => Nil
    case write: V2WriteCommand => change(node, Targets.written(write.table))
    case delete: DeleteFromTable => change(node, Targets.written(delete.table))
    case update: UpdateTable => change(node, Targets.written(update.table))
    case merge: MergeIntoTable => change(node, Targets.written(merge.targetTable))
    case batch: WriteToMicroBatchDataSource => streamed(batch.relation.orElse(Some(batch.table)).flatMap(Targets.written))
    case batch: WriteToMicroBatchDataSourceV1 => streamed(
      Some(Targets.merged(batch.catalogTable.flatMap(Targets.of).toSeq ++ batch.writeOptions.get("path").map(path => Target(path = Some(path))))))
    case stream: WriteToStream =>
      val name = stream.catalogAndIdent.map { case (catalog, identifier) => ResolvedIdentifier(catalog, identifier) }
      streamed(Some(Targets.merged(Seq(name, Some(stream.sink), stream.catalogTable).flatMap(Targets.of(_)))))
    case save: SaveIntoDataSourceCommand => change(node, save.options.get("path").map(path => Target(path = Some(path))))
    case rename: RenameTable => change(node, Targets.of(rename.child)).map(_.copy(renamed = renamed(rename)))
    case set: SetTableProperties => altered(node, Targets.of(set.table), set.properties.keys)
    case unset: UnsetTableProperties => altered(node, Targets.of(unset.table), unset.propertyKeys)
    case command: RunnableCommand if isSparks(command) => Nil
    case command: Command if Written.matches(name(command)) => change(node, written(session, command))
    case command: Command if !Idle.matches(name(command)) => change(node, named(session, command))
    case _ => Nil
  }

  private def change(node: LogicalPlan, target: Option[Target]): Seq[Change] = {
    val Meaning(words, kind, changes) = meaning(node)
    target.filter(each => each.table.nonEmpty || each.path.nonEmpty).map(Change(words, kind, _, changes)).toSeq
  }

  private def altered(node: LogicalPlan, target: Option[Target], properties: Iterable[String]): Seq[Change] =
    change(node, target).map(_.copy(changes = properties.exists(each =>
      Views.owns(each) || each.startsWith("delta.") || Moving(each.toLowerCase(Locale.ROOT)))))

  /** Properties by which Iceberg makes another snapshot the current one; it keeps none of them. */
  private val Moving = Set("current-snapshot-id", "cherry-pick-snapshot-id")

  private def streamed(target: Option[Target]): Seq[Change] =
    target.filter(each => each.table.nonEmpty || each.path.nonEmpty)
      .map(Change("a batch of a stream", CommandKind.Stream, _, changes = true)).toSeq

  /** All parts of a command that are a table, but for the tables that its query reads. */
  private def named(session: SparkSession, command: Command): Option[Target] = {
    val parts = (command.productIterator.toSeq ++ command.children).map(qualified(session, _))
    Some(Targets.merged(parts.flatMap(Targets.of) ++ Reflected(command, "target").flatMap(Targets.written)))
  }

  /** A name without a database means one in that of the session. */
  private def qualified(session: SparkSession, part: Any): Any = part match {
    case plain: TableIdentifier if plain.database.isEmpty => Access.classic(session).sessionState.catalog.qualifyIdentifier(plain)
    case other => other
  }

  /** Iceberg's own commands keep the name of their table as it was written. */
  private def written(session: SparkSession, command: Command): Option[Target] =
    Reflected(command, "table").collect { case parts: Seq[_] => parts.map(_.toString) }.flatMap(Access.meant(session, _)).flatMap {
      case (catalog, identifier) => Targets.of(ResolvedIdentifier(catalog, identifier))
    }

  /**
   * A name without a namespace is one in that of the table. Some of Iceberg's catalogs take their own name off, with which it may
   * begin.
   */
  private def renamed(rename: RenameTable): Option[String] = rename.child match {
    case table: ResolvedTable =>
      val namespace = rename.newName.init match {
        case Seq() => table.identifier.namespace.toSeq
        case head +: inner if inner.nonEmpty && head == table.catalog.name => inner
        case whole => whole
      }
      Some(Names.key(table.catalog.name, Identifier.of(namespace.toArray, rename.newName.last)))
    case _ => None
  }

  /** Spark's own commands for its session catalog. What they do is told by [[Writes]], or by that catalog. */
  private def isSparks(command: RunnableCommand): Boolean = {
    val of = command.getClass.getName
    of.startsWith("org.apache.spark.sql.execution.") || of.startsWith("org.apache.spark.sql.hive.") || of.startsWith("io.headwater.")
  }

  private final case class Meaning(words: String, kind: CommandKind, changes: Boolean = true)

  private def meaning(node: LogicalPlan): Meaning = node match {
    case write: RowLevelWrite => Access.operation(write.table).flatMap(known.get).getOrElse(of("UPDATE"))
    case create if name(create) == "CreateDeltaTableCommand" =>
      val replaces = Reflected(create, "operation").exists(each => name(each) != "Create")
      if (replaces) known("ReplaceTable") else known("CreateTable")
    case other => known.getOrElse(name(other), of(other))
  }

  private def of(words: String): Meaning = Meaning(words, CommandKind.Insert)

  /** An unknown command: `OptimizeTableCommand` is OPTIMIZE TABLE. */
  private def of(node: LogicalPlan): Meaning = {
    val words = name(node).replace("Delta", "").stripSuffix("Command").split("(?=[A-Z])").filter(_.nonEmpty)
    Meaning(words.mkString(" ").toUpperCase(Locale.ROOT), CommandKind.Alter, changes = !Harmless.matches(name(node)))
  }

  private val known: Map[String, Meaning] = Map(
    "AppendData" -> of("INSERT INTO"),
    "OverwriteByExpression" -> of("INSERT OVERWRITE"),
    "OverwritePartitionsDynamic" -> of("INSERT OVERWRITE"),
    "DeltaDynamicPartitionOverwriteCommand" -> of("INSERT OVERWRITE"),
    "SaveIntoDataSourceCommand" -> of("INSERT INTO"),
    "WriteIntoDelta" -> of("INSERT INTO"),
    "DELETE" -> of("DELETE FROM"), "DeleteFromTable" -> of("DELETE FROM"), "DeleteCommand" -> of("DELETE FROM"),
    "UPDATE" -> of("UPDATE"), "UpdateTable" -> of("UPDATE"), "UpdateCommand" -> of("UPDATE"),
    "MERGE" -> of("MERGE INTO"), "MergeIntoTable" -> of("MERGE INTO"), "MergeIntoCommand" -> of("MERGE INTO"),
    "TruncateTable" -> Meaning("TRUNCATE TABLE", CommandKind.Truncate),
    "TruncateDeltaTableCommand" -> Meaning("TRUNCATE TABLE", CommandKind.Truncate),
    "CreateTableAsSelect" -> Meaning("CREATE TABLE AS SELECT", CommandKind.Create, changes = false),
    "CreateTable" -> Meaning("CREATE TABLE", CommandKind.Create, changes = false),
    "ReplaceTableAsSelect" -> Meaning("REPLACE TABLE AS SELECT", CommandKind.Create),
    "ReplaceTable" -> Meaning("REPLACE TABLE", CommandKind.Create),
    "CloneTableCommand" -> Meaning("CLONE", CommandKind.Create),
    "DropTable" -> Meaning("DROP TABLE", CommandKind.Drop, changes = false),
    "RenameTable" -> Meaning("ALTER TABLE RENAME", CommandKind.Alter),
    "AddColumns" -> Meaning("ADD COLUMNS", CommandKind.Alter))

  /**
   * Whether a write is one by which a procedure of Iceberg's puts rows into other files. It commits nothing: the procedure does,
   * and that is allowed or refused as such.
   */
  private def isStaged(written: LogicalPlan): Boolean = written match {
    case found: DataSourceV2Relation => FileFormats.simple(Access.plain(found.table)) == "SparkRewriteTable"
    case _ => false
  }

  /** Commands that change no table. */
  private val Idle = "(Show|Describe|Explain|Refresh|Analyze|Cache|Uncache|List|Vacuum|Set(Catalog|Namespace|View)|Create(View|Namespace|Function)|Comment).*".r

  private val Written =
    "((Add|Drop|Replace)PartitionField|(CreateOrReplace|Drop)(Branch|Tag)|(Set|Drop)IdentifierFields|SetWriteDistributionAndOrdering)".r

  /** Commands that change neither rows nor columns: anybody may tidy up a view's table. */
  private val Harmless = "(DropBranch|DropTag|SetWriteDistributionAndOrdering|Optimize|DeltaReorg|DeltaGenerate|AlterTableSetProperties|AlterTableUnsetProperties|SetTableProperties).*".r

  private def name(node: Any): String = FileFormats.simple(node.asInstanceOf[AnyRef])
}
