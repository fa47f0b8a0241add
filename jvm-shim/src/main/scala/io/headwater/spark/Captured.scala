package io.headwater.spark

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access

/** The parts of a user's session that give a statement its meaning: catalogs, database, settings. */
object Captured {
  private val meaning = Seq(
    "spark.sql.ansi.", "spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.legacy.",
    "spark.sql.storeAssignmentPolicy", "spark.sql.mapKeyDedupPolicy", "spark.sql.decimalOperations.",
    "spark.sql.groupByOrdinal", "spark.sql.groupByAliases", "spark.sql.orderByOrdinal",
    "spark.sql.timestampType", "spark.sql.crossJoin.", "spark.sql.parser.", "spark.sql.charAsVarchar",
    "spark.sql.preserveCharVarcharTypeInfo", "spark.sql.readSideCharPadding", "spark.sql.jsonGenerator.",
    "spark.sql.function.", "spark.headwater.")

  def of(session: SparkSession): SessionFacts = {
    val classic = Access.classic(session)
    val settings = classic.conf.getAll.toSeq.collect {
      case setting @ (key, _) if meaning.exists(key.startsWith) => setting
    }
    val zone = "spark.sql.session.timeZone" -> classic.sessionState.conf.sessionLocalTimeZone
    val manager = classic.sessionState.catalogManager
    SessionFacts(
      manager.currentCatalog.name, Names.spelled(manager.currentNamespace.toSeq), SortedMap.from(settings.toMap + zone),
      Catalogs.names(session))
  }
}
