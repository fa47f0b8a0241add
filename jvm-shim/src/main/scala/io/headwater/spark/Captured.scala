package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access
import org.json4s._

/** What of a user's session gives a statement its meaning: catalog, database, settings. */
object Captured {
  private val meaning = Seq(
    "spark.sql.ansi.", "spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.legacy.",
    "spark.sql.storeAssignmentPolicy", "spark.sql.mapKeyDedupPolicy", "spark.sql.decimalOperations.",
    "spark.sql.groupByOrdinal", "spark.sql.groupByAliases", "spark.sql.orderByOrdinal",
    "spark.sql.timestampType", "spark.sql.crossJoin.", "spark.sql.parser.", "spark.sql.charAsVarchar",
    "spark.sql.preserveCharVarcharTypeInfo", "spark.sql.readSideCharPadding", "spark.headwater.")

  def of(session: SparkSession): JObject = {
    val classic = Access.classic(session)
    val settings = classic.conf.getAll.toSeq.collect {
      case (key, value) if meaning.exists(key.startsWith) => key -> JString(value)
    }
    val zone = "spark.sql.session.timeZone" -> JString(classic.sessionState.conf.sessionLocalTimeZone)
    val manager = classic.sessionState.catalogManager
    JObject(
      "catalog" -> JString(manager.currentCatalog.name),
      "database" -> JString(Names.spelled(manager.currentNamespace.toSeq)),
      "settings" -> JObject((settings.toMap + zone).toList.sortBy(_._1)))
  }
}
