package io.headwater.spark

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.internal.SQLConf

/** The parts of a user's session that give a statement its meaning: catalogs, database, settings. */
object Captured {
  def of(session: SparkSession): SessionFacts = {
    val classic = Access.classic(session)
    val settings = kept(classic.conf.getAll)
    // Java knows short names of zones, such as PST, that no other program does.
    val zone = "spark.sql.session.timeZone" -> DateTimeUtils.getZoneId(classic.sessionState.conf.sessionLocalTimeZone).getId
    val manager = classic.sessionState.catalogManager
    SessionFacts(
      manager.currentCatalog.name, Names.spelled(manager.currentNamespace.toSeq), SortedMap.from(settings + zone),
      Catalogs.names(session), classic.withActive(Names.folds))
  }

  /** The same, for programs that are no session's own. */
  def told(session: SparkSession): String = Wire.encode(of(session))

  /** Those of some settings that can change the result of a query, and that a session can set. A test lists all of Spark's that are not among them. */
  def kept(settings: Map[String, String]): Map[String, String] = {
    val ordinary = Access.keptByOrdinaryView(settings)
    settings.filter { case (key, _) => Meaning.exists(key.startsWith) && !SQLConf.isStaticConfigKey(key) ||
      key.startsWith("spark.sql.") && ordinary(key) && !Running.exists(key.startsWith)
    }
  }

  def keeps(key: String): Boolean = kept(Map(key -> "")).nonEmpty

  /** Lets a new session have the defaults of all that a view keeps: what was not set at `CREATE` had them. */
  def forget(session: SparkSession): Unit =
    kept(Access.classic(session).conf.getAll).keys.filter(_.startsWith("spark.sql.")).foreach(session.conf.unset)

  /** What a view keeps also where Spark's rule may leave it out. */
  private val Meaning = Seq(
    "spark.sql.ansi.", "spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.legacy.",
    "spark.sql.storeAssignmentPolicy", "spark.sql.mapKeyDedupPolicy", "spark.sql.decimalOperations.",
    "spark.sql.groupByOrdinal", "spark.sql.groupByAliases", "spark.sql.orderByOrdinal",
    "spark.sql.timestampType", "spark.sql.crossJoin.", "spark.sql.parser.", "spark.sql.charAsVarchar",
    "spark.sql.preserveCharVarcharTypeInfo", "spark.sql.readSideCharPadding", "spark.sql.jsonGenerator.",
    "spark.sql.function.", "spark.sql.sources.validatePartitionColumns", "spark.headwater.",
    // How tables of Hive are read: by Spark or by Hive's SerDe.
    "spark.sql.hive.convertMetastoreParquet", "spark.sql.hive.convertMetastoreOrc", "spark.sql.hive.convertMetastoreAsNullable",
    "spark.sql.hive.caseSensitiveInferenceMode", "spark.sql.hive.manageFilesourcePartitions",
    // How subqueries count, and what a query gives of statistics and of pruned columns.
    "spark.sql.optimizer.decorrelate", "spark.sql.optimizer.pullOutNestedDataOuterRefExpressions",
    "spark.sql.optimizer.scalarSubqueryUseSingleJoin", "spark.sql.optimizer.wrapExistsInAggregateFunction",
    "spark.sql.optimizer.metadataOnly", "spark.sql.optimizer.enableCsvExpressionOptimization",
    "spark.sql.optimizer.enableJsonExpressionOptimization",
    // How jobs of Python turn values into rows, and rows into values.
    "spark.sql.execution.arrow.enabled", "spark.sql.execution.arrow.fallback.enabled", "spark.sql.execution.arrow.pyspark.",
    "spark.sql.execution.pandas.convertToArrowArraySafely", "spark.sql.execution.pandas.inferPandasDictAsMap",
    "spark.sql.execution.pandas.structHandlingMode", "spark.sql.execution.pyspark.binaryAsBytes", "spark.sql.execution.pythonUDF.",
    "spark.sql.execution.pythonUDTF.", "spark.sql.pyspark.infer", "spark.sql.pyspark.legacy.",
    // What a path is read as.
    "spark.sql.sources.default", "spark.sql.sources.partitionColumnTypeInference.", "spark.sql.streaming.fileStreamSink.ignoreMetadata")

  /** What an ordinary view keeps although it changes how Spark runs and writes. The application has the say in that. */
  private val Running = Seq(
    "adaptive.", "artifact.", "autoBroadcastJoinThreshold", "avro.compression.", "avro.deflate.", "avro.xz.", "avro.zstandard.",
    "avro.datetimeRebaseModeInWrite", "cartesianProductExec.", "classic.", "columnVector.", "error.", "expressionTreeChangeLog.",
    "maxBroadcastTableSize", "maxConcurrentOutputFileWriters", "parquet.variant.annotate", "planChange",
    "sessionWindow.buffer.", "shuffleDependency.", "variant.inferShredding", "variant.forceShredding",
    "variant.shredding.", "variant.writeShredding.",
    "broadcast", "bucketing.", "cache.", "catalog.", "cbo.", "codegen.", "connect.", "debug", "defaultCatalog",
    "execution.", "exchange.", "files.maxPartition", "files.maxRecords", "files.minPartition", "files.openCost",
    "hive.", "inMemoryColumnarStorage.", "join.", "maven.", "metadataCacheTTLSeconds", "objectHashAggregate.",
    "optimizer.", "orc.compression.", "parquet.compression.", "parquet.outputTimestampType",
    "parquet.datetimeRebaseModeInWrite", "parquet.int96RebaseModeInWrite", "parquet.writeLegacyFormat",
    "parquet.fieldId.write.", "parquet.output.", "pipelines.", "pyspark.", "redaction.", "repl.", "scripting.", "shuffle.",
    "sources.", "sort", "statistics.", "streaming.", "thriftServer.", "thriftserver.", "ui.", "variable.substitute", "warehouse.",
    "window").map("spark.sql." + _)
}
