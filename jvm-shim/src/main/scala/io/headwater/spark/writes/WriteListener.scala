package io.headwater.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.headwater.Access

/**
 * Turns what Spark announces into hints for the engine: something was written to this table or path,
 * perhaps only in these partitions. A hint decides nothing; the engine compares the table's state.
 */
final class WriteListener(application: Application) {

  def on(event: SparkListenerEvent): Unit = event match {
    case changed: ExternalCatalogEvent => catalogHint(changed).foreach(application.tell)
    case finished =>
      Access.finished(finished)
        .filterNot(execution => Internal.is(execution.sparkSession))
        .foreach(execution => Writes.of(execution).distinct.foreach(application.tell))
  }

  private def catalogHint(event: ExternalCatalogEvent): Option[Hint] = event match {
    case CreateTableEvent(database, name) => Some(table(database, name, "CREATE TABLE", CommandKind.Create))
    case DropTableEvent(database, name) => Some(table(database, name, "DROP TABLE", CommandKind.Drop))
    case RenameTableEvent(database, name, renamed) =>
      Some(table(database, name, "ALTER TABLE RENAME", CommandKind.Alter).copy(renamed = Some(key(database, renamed))))
    case AlterTableEvent(_, _, AlterTableKind.STATS) => None
    case AlterTableEvent(database, name, AlterTableKind.TABLE) if Own.is(database, name) => None
    case AlterTableEvent(database, name, _) => Some(table(database, name, "ALTER TABLE", CommandKind.Alter))
    case CreateFunctionEvent(database, name) => Some(function(database, name, "CREATE FUNCTION", CommandKind.Create))
    case AlterFunctionEvent(database, name) => Some(function(database, name, "CREATE OR REPLACE FUNCTION", CommandKind.Alter))
    case DropFunctionEvent(database, name) => Some(function(database, name, "DROP FUNCTION", CommandKind.Drop))
    case DropDatabaseEvent(database) =>
      Some(Hint(database = Some(database), command = "DROP DATABASE", kind = CommandKind.Drop))
    case _ => None
  }

  private def table(database: String, name: String, command: String, kind: CommandKind): Hint =
    Hint(table = Some(key(database, name)), command = command, kind = kind)

  private def function(database: String, name: String, command: String, kind: CommandKind): Hint =
    Hint(table = Some(Names.function(FunctionIdentifier(name, Some(database)))), command = command, kind = kind)

  private def key(database: String, name: String): String = Names.key(Seq(database, name))
}

/** Announcements of what Headwater itself did to a table. One that never comes hides another one, which a check makes up for. */
private[spark] object Own {
  private val expected = new ConcurrentHashMap[(String, String), Int]

  def expect(database: String, table: String): Unit = expected.merge((database, table), 1, _ + _)

  def is(database: String, table: String): Boolean = {
    var found = false
    expected.computeIfPresent((database, table), (_, count) => { found = true; if (count > 1) count - 1 else 0 })
    expected.remove((database, table), 0)
    found
  }
}
