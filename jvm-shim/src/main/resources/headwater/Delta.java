package io.headwater.spark;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.util.*;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.*;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.delta.*;
import org.apache.spark.sql.delta.actions.*;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.schema.SchemaUtils;
import org.apache.spark.sql.delta.storage.ClosableIterator;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What the engine asks of Delta, typed in spark/tables/delta/calls.py. Compiled.scala says how this is compiled. */
public final class Delta {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Nothing checks the fields of a write when this is compiled, so one is made before any is needed. */
  public Delta() throws ReflectiveOperationException {
    DeltaOperations.Write write = (DeltaOperations.Write) operation(SaveMode.Append, "predicate", "told", true);
    boolean known = write.mode() == SaveMode.Append && write.predicate().contains("predicate")
        && write.userMetadata().contains("told") && write.canOverwriteSchema().contains(Boolean.TRUE);
    if (!known) throw new IllegalStateException("DeltaOperations.Write has other fields");
  }

  /** The table at a path. */
  public Opened at(SparkSession session, String path) {
    return new Opened(DeltaLog.forTable(session, new Path(path)), Option.empty());
  }

  /** One that a catalog loaded; null: it has another format. */
  public Opened of(Object loaded) {
    if (!(loaded instanceof DeltaTableV2)) return null;
    DeltaTableV2 table = (DeltaTableV2) loaded;
    return new Opened(table.deltaLog(), table.catalogTable());
  }

  /** Lets Delta's classes run in a session, on this thread. The session before it comes back, to be restored. */
  public Option activate(SparkSession session) {
    Option before = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    return before;
  }

  public void restore(Option before) {
    if (before.isDefined()) SparkSession.setActiveSession((SparkSession) before.get());
    else SparkSession.clearActiveSession();
  }

  /** Another program's commit came first. */
  public boolean isConflict(Throwable error) {
    return error instanceof ConcurrentModificationException;
  }

  /** Columns that a statement declares, as a schema in JSON. */
  public String schema(String columns) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType.fromDDL(columns)).json();
  }

  /** The columns of rows that Delta stores. */
  public String stored(Dataset<Row> rows) {
    return SchemaUtils.dropNullTypeColumns(rows).schema().json();
  }

  /** A table as it was when it was opened. Delta keeps a log for each path, and drops it with the table; nobody else keeps it. */
  public static final class Opened {
    private final DeltaLog log;
    private final Option<CatalogTable> entry;
    private final Snapshot state;
    private final Map<Long, FileStatus> files = new TreeMap<Long, FileStatus>();

    Opened(DeltaLog log, Option<CatalogTable> entry) {
      this.log = log;
      this.entry = entry;
      this.state = log.update(false, Option.empty(), entry);
    }

    public String told() throws IOException {
      Option created = state.metadata().createdTime();
      return JSON.writeValueAsString(Map.of(
          "version", state.version(), "location", log.dataPath().toString(), "is_listed", entry.isDefined(),
          "metadata", state.version() < 0 ? "" : state.metadata().json(), "created", created.isDefined() ? created.get() : 0L));
    }

    /** The commits from a version on, as far as their files are there. */
    public String commits(long from) {
      Iterator found = log.getChangeLogFiles(from, entry, false);
      List<String> versions = new ArrayList<String>();
      while (found.hasNext()) {
        Tuple2 each = (Tuple2) found.next();
        files.put((Long) each._1(), (FileStatus) each._2());
        versions.add(each._1().toString());
      }
      return String.join(" ", versions);
    }

    public String commit(long version) {
      return log.store().read((FileStatus) files.get(version), log.newDeltaHadoopConf()).mkString("\n");
    }

    /** The first line of a commit; empty if its file was cleaned up. */
    public String firstLine(long version) throws IOException {
      if (!files.containsKey(version)) {
        Iterator found = log.getChangeLogFiles(version, entry, false);
        Tuple2 first = found.hasNext() ? (Tuple2) found.next() : null;
        if (first == null || ((Long) first._1()).longValue() != version) return "";
        files.put(version, (FileStatus) first._2());
      }
      ClosableIterator lines = log.store().readAsIterator((FileStatus) files.get(version), log.newDeltaHadoopConf());
      try {
        return lines.hasNext() ? (String) lines.next() : "";
      } finally {
        lines.close();
      }
    }

    public String metadata(long version) {
      return at(version).metadata().json();
    }

    /** The actions that add the files of a version. */
    public Dataset<Row> files(long version) {
      return at(version).allFiles().toDF();
    }

    /** The same of files in the state; null if one is not there any more with all its rows. Delta repeats no name. */
    public Seq<AddFile> named(List<String> names) {
      if (names.isEmpty()) return PythonUtils.toSeq(Collections.emptyList());
      List<AddFile> found = state.allFiles()
          .filter(functions.substring_index(functions.col("path"), "/", -1).isin(names.toArray()))
          .filter(functions.col("deletionVector").isNull())
          .collectAsList();
      return found.size() == names.size() ? PythonUtils.toSeq(found) : null;
    }

    /** The rows of files in the state. */
    public Dataset<Row> rows(Seq<AddFile> added) {
      return log.createDataFrame(state, added, false, Option.empty());
    }

    /** The rows of files that these actions, as JSON, add to a version. */
    public Dataset<Row> rowsOf(long version, List<String> actions) {
      List<AddFile> added = new ArrayList<AddFile>();
      for (String each : actions) added.add((AddFile) Action.fromJson(each));
      return log.createDataFrame(at(version), PythonUtils.toSeq(added), false, Option.empty());
    }

    public long bytes() {
      return state.sizeInBytes();
    }

    public long count() {
      return state.numOfFiles();
    }

    /** The version of a view that its owner published last; 0: none. */
    public long published(String owner) {
      Option found = state.transactions().get(owner);
      return found.isDefined() ? ((Long) found.get()).longValue() : 0L;
    }

    /** Writes files that no commit names yet; with a schema, for a table of these columns. */
    public Staged write(Dataset<Row> rows, String schema, List<String> partitionedBy) {
      OptimisticTransaction transaction = begin();
      if (schema != null) reshape(transaction, schema, PythonUtils.toSeq(partitionedBy));
      Seq added = transaction.writeFiles(rows);
      return new Staged(added, transaction);
    }

    /** Whether no file of a run was deleted, where the table's retention time is over for one that began so long ago. */
    public boolean areThere(Staged staged, long millis) throws IOException {
      if (millis < DeltaLog.tombstoneRetentionMillis(state.metadata())) return true;
      FileSystem system = log.dataPath().getFileSystem(log.newDeltaHadoopConf());
      for (Object each : CollectionConverters.asJava(staged.added))
        if (!system.exists(((AddFile) each).absolutePath(log))) return false;
      return true;
    }

    /** A commit to be made: another one beside it of the same view is a conflict. */
    public Draft draft(String owner) {
      OptimisticTransaction transaction = begin();
      transaction.txnVersion(owner);
      return new Draft(transaction, owner);
    }

    private OptimisticTransaction begin() {
      return log.startTransaction(entry, Option.apply(state));
    }

    private Snapshot at(long version) {
      return version == state.version() ? state : log.getSnapshotAt(version, Option.empty(), entry, false);
    }
  }

  /** Files that a run wrote. */
  public static final class Staged {
    private final Seq added;
    private final Metadata metadata;
    private final Map<String, SQLMetric> metrics = new HashMap<String, SQLMetric>();

    Staged(Seq added, OptimisticTransaction transaction) {
      this.added = added;
      this.metadata = transaction.metadata();
      for (String name : new String[] {"numFiles", "numOutputRows", "numOutputBytes"}) {
        Option metric = transaction.getMetric(name);
        if (metric.isDefined()) metrics.put(name, (SQLMetric) metric.get());
      }
    }

    /** The columns of the table that they were staged for. */
    public String metadata() {
      return metadata.json();
    }

    public long bytes() {
      AccumulatorV2 metric = (AccumulatorV2) metrics.get("numOutputBytes");
      return metric == null ? 0L : ((Long) metric.value()).longValue();
    }
  }

  /** A commit in the making. */
  public static final class Draft {
    private final OptimisticTransaction transaction;
    private final String owner;

    Draft(OptimisticTransaction transaction, String owner) {
      this.transaction = transaction;
      this.owner = owner;
    }

    /** Gives the table the columns that files have. */
    public void reshape(Staged staged) {
      Delta.reshape(transaction, staged.metadata.schemaString(), staged.metadata.partitionColumns());
    }

    /** All files. */
    public Seq<AddFile> everything() {
      return transaction.filterFiles();
    }

    /** The files with rows for which a condition holds. */
    public Seq<AddFile> within(SparkSession session, String condition) throws ParseException {
      List<Expression> conditions = Collections.singletonList(
          ((org.apache.spark.sql.classic.SparkSession) session).sessionState().sqlParser().parseExpression(condition));
      return transaction.filterFiles(PythonUtils.toSeq(conditions), false);
    }

    /** Commits files, which take the place of others; the version of the table then. The history shows the rest. */
    public long commit(
        SparkSession session, Staged staged, Seq<AddFile> instead, long version, boolean appended, boolean reshaped,
        String predicate, String told) throws ReflectiveOperationException {
      SQLMetric removed = SQLMetrics.createMetric(session.sparkContext(), "number of removed files");
      removed.set(instead.size());
      Map<String, SQLMetric> metrics = new HashMap<String, SQLMetric>(staged.metrics);
      metrics.put("numRemovedFiles", removed);
      transaction.registerSQLMetrics(session, PythonUtils.toScalaMap(metrics));
      List<Action> actions = new ArrayList<Action>();
      for (Object each : CollectionConverters.asJava(staged.added)) actions.add((Action) each);
      for (Object each : CollectionConverters.asJava(instead)) actions.add(((AddFile) each).remove());
      actions.add(new SetTransaction(owner, version, Option.apply(System.currentTimeMillis())));
      SaveMode mode = appended ? SaveMode.Append : SaveMode.Overwrite;
      return transaction.commit(PythonUtils.toSeq(actions), operation(mode, predicate, told, reshaped));
    }
  }

  /** Each version of Delta knows more of a write, at the end. */
  private static DeltaOperations.Operation operation(SaveMode mode, String predicate, String told, boolean reshaped)
      throws ReflectiveOperationException {
    Constructor<?> write = DeltaOperations.Write.class.getConstructors()[0];
    Object[] values = new Object[write.getParameterCount()];
    Arrays.fill(values, Option.empty());
    values[0] = mode;
    values[2] = Option.apply(predicate);
    values[3] = Option.apply(told);
    if (reshaped) values[5] = Option.apply(true);
    return (DeltaOperations.Operation) write.newInstance(values);
  }

  private static void reshape(OptimisticTransaction transaction, String schema, Seq columns) {
    Metadata was = transaction.metadata();
    transaction.updateMetadataForTableOverwrite(was.copy(
        was.id(), was.name(), was.description(), was.format(), schema, columns, was.configuration(), was.createdTime()));
  }
}
