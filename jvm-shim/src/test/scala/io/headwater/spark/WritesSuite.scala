package io.headwater.spark

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OneRowRelation}
import org.apache.spark.sql.execution.UnionExec
import org.apache.spark.sql.execution.command.DataWritingCommandExec
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.execution.{CreateHiveTableAsSelectCommand, InsertIntoHiveDirCommand}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class WritesSuite extends AnyFunSuite {

  private def hints(statement: String): Seq[Hint] = {
    val session = Access.classic(LocalSpark.session)
    val plan = session.sessionState.executePlan(session.sessionState.sqlParser.parsePlan(statement)).analyzed
    plan.collect { case node: LogicalPlan => Writes.hints(session, node) }.flatten
  }

  test("a write to a directory tells its path") {
    LocalSpark.emptyShop()
    val path = s"${LocalSpark.warehouse}/a b#c%20d"
    assert(hints(s"INSERT OVERWRITE DIRECTORY '$path' USING parquet SELECT 1 AS x") ==
      Seq(Hint(path = Some(path), command = "INSERT OVERWRITE DIRECTORY", kind = CommandKind.Insert)))
    val storage = CatalogStorageFormat.empty.copy(locationUri = Some(new org.apache.hadoop.fs.Path(path).toUri))
    assert(Writes.hints(LocalSpark.session, InsertIntoHiveDirCommand(isLocal = false, storage, OneRowRelation(), overwrite = true, Nil)) ==
      Seq(Hint(path = Some(path), command = "INSERT OVERWRITE DIRECTORY", kind = CommandKind.Insert)))
  }

  test("a table of Hive's that is made of a query is told of when its rows are there") {
    val table = CatalogTable(
      TableIdentifier("t", Some("shop")), CatalogTableType.MANAGED, CatalogStorageFormat.empty, new StructType)
    val create = CreateHiveTableAsSelectCommand(table, OneRowRelation(), Nil, org.apache.spark.sql.SaveMode.ErrorIfExists)
    assert(Writes.hints(LocalSpark.session, create) == Seq(Hint(table = Some("shop.t"), command = "CREATE TABLE AS SELECT", kind = CommandKind.Create)))
  }

  test("of several writes in one statement the last waits for the views of all") {
    val session = LocalSpark.emptyShop().newSession()
    session.conf.set("spark.headwater.wait", "true")
    Seq("a", "b").foreach(each => session.sql(s"CREATE TABLE shop.$each (x INT) USING parquet"))
    val classic = Access.classic(session)
    val parsed = classic.sessionState.sqlParser.parsePlan(
      "FROM (SELECT 1 AS x) INSERT INTO shop.a SELECT x INSERT OVERWRITE shop.b SELECT x")
    val planned = classic.sessionState.executePlan(parsed, org.apache.spark.sql.execution.CommandExecutionMode.SKIP).sparkPlan
    val rule = WaitForViews(session).preColumnarTransitions
    val UnionExec(Seq(DataWritingCommandExec(first, _), DataWritingCommandExec(last: WaitingWrite, _))) = rule(planned)
    assert(!first.isInstanceOf[WaitingWrite])
    assert(last.hints.flatMap(_.table).map(_.split('.').last) == Seq("a", "b"))
    assert(rule(rule(planned)) == rule(planned))
  }
}
