package io.headwater.spark;

import java.io.IOException;
import java.lang.ref.SoftReference;
import java.lang.reflect.Constructor;
import java.util.*;
import java.util.function.UnaryOperator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.*;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.delta.*;
import org.apache.spark.sql.delta.actions.*;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.schema.SchemaUtils;
import org.apache.spark.sql.delta.storage.ClosableIterator;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.util.AccumulatorV2;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What the engine asks of Delta, typed in spark/tables/delta/calls.py. Compiled.scala says how this is compiled.
 *
 * Delta's own Snapshot computes the state of a table by jobs of Spark, after each commit. So the ids, the size and the
 * files come from the checksum of the commit if it has them, or else from Delta's Kernel, and from jobs only where neither
 * knows (docs/decisions/0042-the-log-is-read-without-jobs.md).
 */
public final class Delta implements UnaryOperator {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Logger LOG = LoggerFactory.getLogger(Delta.class);

  /** Of more files, the executors make the list: the driver would take longer. */
  private static final long MOST_FILES = 100000;
  /** Of more files, the executors read the statistics. */
  private static final long MOST_SEARCHED = 10000;
  /** The same by the bytes of the log, where no checksum counts the files. */
  private static final long MOST_BYTES = 64L << 20;

  /** Features of tables whose actions checksums and the Kernel keep as Delta's Snapshot does. */
  private static final Set<String> PLAIN = new HashSet<String>(Arrays.asList(
      "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "identityColumns",
      "deletionVectors", "rowTracking", "timestampNtz", "domainMetadata", "v2Checkpoint", "clustering", "inCommitTimestamp",
      "typeWidening", "typeWidening-preview", "vacuumProtocolCheck", "checkpointProtection", "allowColumnDefaults",
      "icebergCompatV1", "icebergCompatV2", "icebergCompatV3", "materializePartitionColumns",
      "variantType", "variantType-preview", "variantShredding", "variantShredding-preview"));

  /** Whether a commit outside UTC compares the files in its checksum with the state, which takes two jobs. */
  private static final String VERIFIED = "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled";

  private Replay replay;

  /** For states of tables the same with their files in the driver, as long as Delta keeps them and there is memory. */
  private final Map<Snapshot, SoftReference> searched = new WeakHashMap<Snapshot, SoftReference>();

  /** What Delta's Kernel reads of a log, on the driver alone. A failure means that Delta's Snapshot is to be asked. */
  public interface Replay {
    /** The actions that add the files of a version, as JSON; with their statistics or without. */
    List<String> files(Configuration settings, String table, long version, boolean statistics) throws Exception;

    /** The last version that an application committed up to a version of the table; null: none. */
    Long last(Configuration settings, String table, long version, String application) throws Exception;
  }

  /** Nothing checks the fields of a write when this is compiled, so one is made before any is needed. */
  public Delta() throws ReflectiveOperationException {
    DeltaOperations.Write write = (DeltaOperations.Write) operation(SaveMode.Append, "predicate", "told", true);
    boolean known = write.mode() == SaveMode.Append && write.predicate().contains("predicate")
        && write.userMetadata().contains("told") && write.canOverwriteSchema().contains(Boolean.TRUE);
    if (!known) throw new IllegalStateException("DeltaOperations.Write has other fields");
  }

  /** The table at a path. */
  public Opened at(SparkSession session, String path) {
    return new Opened(this, DeltaLog.forTable(session, new Path(path)), Option.empty());
  }

  /** One that a catalog loaded; null: it has another format. */
  public Opened of(Object loaded) {
    if (!(loaded instanceof DeltaTableV2)) return null;
    DeltaTableV2 table = (DeltaTableV2) loaded;
    return new Opened(this, table.deltaLog(), table.catalogTable());
  }

  /** What a query reads: of a table as it was at a version, files in the driver; else the same. */
  public Object apply(Object location) {
    if (!(location instanceof TahoeLogFileIndex)) return location;
    TahoeLogFileIndex index = (TahoeLogFileIndex) location;
    if (!index.isTimeTravelQuery()) return location;
    Snapshot state = (Snapshot) index.snapshotAtAnalysis();
    Snapshot found = searched(new Opened(this, index.deltaLog(), index.catalogTableOpt(), state));
    if (found == state) return location;
    return new TahoeLogFileIndex(index.spark(), index.deltaLog(), index.path(), found, index.catalogTableOpt(),
        index.partitionFilters(), true);
  }

  /** The state of a table in which queries find files without a job; itself, if its files may be unknown to the driver. */
  private Snapshot searched(Opened table) {
    Snapshot state = table.state;
    if (state instanceof FilesInDriver || state.checksumOpt().isEmpty() || !isPlain(state) || hasVariants(state)) return state;
    synchronized (searched) {
      SoftReference known = (SoftReference) searched.get(state);
      FilesInDriver found = known == null ? null : (FilesInDriver) known.get();
      if (found == null) {
        found = new FilesInDriver(table);
        searched.put(state, new SoftReference(found));
      }
      return found;
    }
  }

  /** Their statistics have a spelling that Delta alone reads. */
  private static boolean hasVariants(Snapshot state) {
    for (Object each : CollectionConverters.asJava(state.protocol().readerAndWriterFeatureNames()))
      if (((String) each).startsWith("variant")) return true;
    return false;
  }

  /** Takes the part for which this version of Delta has the classes. */
  public void extend(Object part) {
    replay = (Replay) part;
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
    private final Delta calls;
    private final DeltaLog log;
    private final Option<CatalogTable> entry;
    private final Replay replay;
    private final Snapshot state;
    private final Map<Long, FileStatus> files = new TreeMap<Long, FileStatus>();
    private List<AddFile> listed;
    private Option<VersionChecksum> sum; // null: not looked at yet

    Opened(Delta calls, DeltaLog log, Option<CatalogTable> entry) {
      this(calls, log, entry, log.update(false, Option.empty(), entry));
    }

    Opened(Delta calls, DeltaLog log, Option<CatalogTable> entry, Snapshot state) {
      this.calls = calls;
      this.log = log;
      this.entry = entry;
      this.replay = calls.replay;
      this.state = state;
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
      if (version == state.version()) keepLast();
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

    /** The last commit as its state found it, which spares a listing. */
    private void keepLast() {
      for (Object each : CollectionConverters.asJava(state.logSegment().deltas())) {
        FileStatus file = (FileStatus) each;
        if (file.getPath().getName().equals(String.format("%020d.json", new Object[] {state.version()})))
          files.put(state.version(), file);
      }
    }

    public String metadata(long version) {
      return at(version).metadata().json();
    }

    /** The distinct partitions with files at a version, by the physical names of the columns; with paths, of these alone. */
    public String partitions(long version, List<String> keys, List<String> paths) throws IOException {
      Set<List<String>> found = new LinkedHashSet<List<String>>();
      Snapshot snapshot = at(version);
      List<AddFile> known = listed(snapshot);
      if (known != null) {
        Set<String> some = paths == null ? null : new HashSet<String>(paths);
        for (AddFile each : known)
          if (some == null || some.contains(each.path())) found.add(values(each, keys));
      } else {
        Dataset<Row> files = snapshot.allFiles().toDF();
        if (paths != null) files = files.where(functions.col("path").isin(paths.toArray()));
        Column[] columns = new Column[keys.size()];
        for (int n = 0; n < columns.length; n++) columns[n] = functions.col("partitionValues").getItem(keys.get(n));
        for (Row row : files.select(columns).distinct().collectAsList()) {
          List<String> values = new ArrayList<String>();
          for (int n = 0; n < columns.length; n++) values.add(row.getString(n));
          found.add(values);
        }
      }
      return JSON.writeValueAsString(found);
    }

    /** The actions that add files in the state; null if one is not there any more with all its rows. Delta repeats no name. */
    public Seq<AddFile> named(List<String> names) throws IOException {
      if (names.isEmpty()) return PythonUtils.toSeq(Collections.emptyList());
      List<AddFile> found = new ArrayList<AddFile>(), known = listed(state);
      if (known != null) {
        Set<String> some = new HashSet<String>(names);
        for (AddFile each : known)
          if (each.deletionVector() == null && some.contains(each.path().substring(each.path().lastIndexOf('/') + 1)))
            found.add(each);
      } else {
        found = state.allFiles()
            .filter(functions.substring_index(functions.col("path"), "/", -1).isin(names.toArray()))
            .filter(functions.col("deletionVector").isNull())
            .collectAsList();
      }
      return found.size() == names.size() ? PythonUtils.toSeq(found) : null;
    }

    /** All rows. A query of some of them finds files by their statistics, mostly without a job. */
    public Dataset<Row> table(SparkSession session) {
      Option<Snapshot> found = Option.apply(calls.searched(this));
      BaseRelation relation = log.createRelation(PythonUtils.toSeq(Collections.emptyList()), found, entry, true);
      return ((org.apache.spark.sql.classic.SparkSession) session).baseRelationToDataFrame(relation);
    }

    /** The bytes of some files. */
    public long bytesOf(Seq<AddFile> added) {
      return Delta.sizeOf((List) CollectionConverters.asJava(added));
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

    public long bytes() throws IOException {
      VersionChecksum sum = checksum(state);
      if (sum != null) return sum.tableSizeBytes();
      List<AddFile> known = listed(state);
      return known == null ? state.sizeInBytes() : sizeOf(known);
    }

    public long count() throws IOException {
      VersionChecksum sum = checksum(state);
      if (sum != null) return sum.numFiles();
      List<AddFile> known = listed(state);
      return known == null ? state.numOfFiles() : known.size();
    }

    /** The bytes of each file; none if only jobs tell, if the table's owner clusters it, or if its rows have numbers. */
    public String sizes() throws IOException {
      List<Long> found = new ArrayList<Long>();
      boolean stays = false;
      for (Object each : CollectionConverters.asJava(state.protocol().readerAndWriterFeatureNames()))
        if (each.equals("clustering") || each.equals("rowTracking")) stays = true;
      List<AddFile> known = stays ? null : listed(state);
      if (known != null) for (AddFile each : known) found.add(each.size());
      return JSON.writeValueAsString(found);
    }

    /** Writes the rows of the files below a size into files that no commit names yet, each of a target size. */
    public Together together(long below, long target) throws IOException {
      OptimisticTransaction transaction = begin();
      List<AddFile> instead = new ArrayList<AddFile>();
      List<Object> added = new ArrayList<Object>();
      for (List<AddFile> bin : bins(below, target)) {
        Dataset<Row> one = rows(PythonUtils.toSeq(bin)).coalesce(1);
        // Without what a table has set for its writes: they could split the file, or compact again after the commit.
        Seq written = transaction.writeFiles(one, Option.empty(), true, PythonUtils.toSeq(Collections.emptyList()));
        for (Object each : CollectionConverters.asJava(written)) added.add(each);
        instead.addAll(bin);
      }
      return new Together(transaction, new Staged(PythonUtils.toSeq(added), transaction), instead);
    }

    /** Files that become one file each, the smallest first, as Delta's OPTIMIZE fills its files. */
    private List<List<AddFile>> bins(long below, long target) throws IOException {
      Map<String, AddFile> small = new TreeMap<String, AddFile>();
      List<AddFile> known = listed(state);
      if (known == null) known = Collections.emptyList();
      for (AddFile each : known)
        if (each.size() < below) small.put(String.format("%020d", new Object[] {each.size()}) + " " + each.path(), each);
      List<List<AddFile>> found = new ArrayList<List<AddFile>>();
      List<AddFile> bin = new ArrayList<AddFile>();
      long size = 0;
      for (AddFile each : small.values()) {
        if (size + each.size() > target && !bin.isEmpty()) {
          if (bin.size() > 1) found.add(bin);
          bin = new ArrayList<AddFile>();
          size = 0;
        }
        bin.add(each);
        size += each.size();
      }
      if (bin.size() > 1) found.add(bin);
      return found;
    }

    /** The version of a view that its owner published last; 0: none. */
    public long published(String owner) throws IOException {
      VersionChecksum sum = checksum(state);
      if (sum != null && sum.setTransactions().isDefined()) {
        for (Object each : CollectionConverters.asJava((Seq) sum.setTransactions().get())) {
          SetTransaction one = (SetTransaction) each;
          if (one.appId().equals(owner)) return one.version();
        }
        return 0L;
      }
      if (isReadable(state, sum) && DeltaLog.minSetTransactionRetentionInterval(state.metadata()).isEmpty()) {
        try {
          Long last = replay.last(log.newDeltaHadoopConf(), log.dataPath().toString(), state.version(), owner);
          return last == null ? 0L : last.longValue();
        } catch (Exception error) {
          unread(log, error);
        } catch (LinkageError error) {
          unread(log, error);
        }
      }
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
      transaction.readTxn().addOne(owner); // as txnVersion does, which computes the state besides
      return new Draft(this, transaction, owner);
    }

    private OptimisticTransaction begin() {
      return log.startTransaction(entry, Option.apply(state));
    }

    private Snapshot at(long version) {
      return version == state.version() ? state : log.getSnapshotAt(version, Option.empty(), entry, false);
    }

    /** The checksum of a version's commit; null: none is surely of this commit, or of a table that this code knows whole. */
    private VersionChecksum checksum(Snapshot snapshot) throws IOException {
      if (snapshot != state) return checked(snapshot);
      if (sum == null) sum = Option.apply(checked(state));
      return sum.isDefined() ? (VersionChecksum) sum.get() : null;
    }

    private VersionChecksum checked(Snapshot snapshot) throws IOException {
      if (!isPlain(snapshot) || snapshot.checksumOpt().isEmpty()) return null;
      VersionChecksum sum = (VersionChecksum) snapshot.checksumOpt().get();
      String line = firstLine(snapshot.version());
      JsonNode told = line.isEmpty() ? null : (JsonNode) JSON.readTree(line).get("commitInfo");
      JsonNode id = told == null ? null : (JsonNode) told.get("txnId");
      boolean isOfIt = id != null && sum.txnId().contains(id.asText()); // a log that was put back may leave old checksums
      return isOfIt ? sum : null;
    }

    /** The actions that add the files of a version, from its checksum or the Kernel; null: there are more, or only jobs tell. */
    private List<AddFile> listed(Snapshot snapshot) throws IOException {
      if (snapshot != state) return found(snapshot, false);
      if (listed == null) listed = found(snapshot, false);
      return listed;
    }

    /** The same for the state, with the statistics of files; null also if there are many. */
    private List<AddFile> withStatistics() {
      try {
        VersionChecksum sum = checksum(state);
        if (sum != null && sum.numFiles() > MOST_SEARCHED) return null;
        List<AddFile> found = found(state, true);
        return found == null || found.size() > MOST_SEARCHED ? null : found;
      } catch (IOException error) {
        return unread(log, error);
      }
    }

    private List<AddFile> found(Snapshot snapshot, boolean statistics) throws IOException {
      VersionChecksum sum = checksum(snapshot);
      Function1 canonical = log.getCanonicalPathFunction(false); // as Delta's Snapshot spells paths
      List<AddFile> found = new ArrayList<AddFile>();
      if (sum != null && sum.allFiles().isDefined()) {
        for (Object each : CollectionConverters.asJava((Seq) sum.allFiles().get())) found.add((AddFile) each);
        if (agrees(sum, found) && areCanonical(found, canonical)) return found;
      }
      if (!isReadable(snapshot, sum) || statistics && areStructs(snapshot)) return null;
      try {
        found = replayed(snapshot.version(), canonical, statistics);
      } catch (Exception error) {
        return unread(log, error);
      } catch (LinkageError error) {
        return unread(log, error);
      }
      return found.size() <= MOST_FILES && (sum == null || agrees(sum, found)) ? found : null;
    }

    /** Whether checkpoints keep statistics in a way that the Kernel does not read. */
    private boolean areStructs(Snapshot snapshot) {
      Option json = snapshot.metadata().configuration().get("delta.checkpoint.writeStatsAsJson");
      return json.isDefined() && !((String) json.get()).equalsIgnoreCase("true");
    }

    private List<AddFile> replayed(long version, Function1 canonical, boolean statistics) throws Exception {
      List<AddFile> found = new ArrayList<AddFile>();
      for (Object each : replay.files(log.newDeltaHadoopConf(), log.dataPath().toString(), version, statistics)) {
        ObjectNode action = (ObjectNode) JSON.readTree((String) each);
        action.put("path", (String) canonical.apply(action.get("path").asText()));
        found.add((AddFile) Action.fromJson("{\"add\":" + action + "}"));
      }
      return found;
    }

    /** Whether the driver reads a log by the Kernel. */
    private boolean isReadable(Snapshot snapshot, VersionChecksum sum) {
      if (replay == null || !isPlain(snapshot)) return false;
      if (sum != null) return sum.numFiles() <= MOST_FILES;
      long bytes = 0;
      for (Object each : CollectionConverters.asJava(snapshot.logSegment().deltas())) bytes += ((FileStatus) each).getLen();
      for (Object each : CollectionConverters.asJava(snapshot.logSegment().checkpointProvider().topLevelFiles()))
        bytes += ((FileStatus) each).getLen();
      return bytes <= MOST_BYTES;
    }
  }

  /**
   * A state of a table whose files lie in the driver with their statistics. Delta finds those of a query in it as in any
   * other, but without a job: Spark evaluates filters over rows of the driver as it plans.
   */
  public static final class FilesInDriver extends Snapshot {
    private final Opened table;
    private boolean asked;
    private List<AddFile> files; // null, when asked: there are more, or only jobs tell
    private LogicalPlan parsed;

    FilesInDriver(Opened table) {
      super(table.state.path(), table.state.version(), table.state.logSegment(), table.log, table.state.checksumOpt());
      this.table = table;
    }

    private synchronized List<AddFile> files() {
      if (!asked) files = table.withStatistics();
      asked = true;
      return files;
    }

    public Dataset<AddFile> allFiles() {
      List<AddFile> found = files();
      if (found == null) return table.state.allFiles();
      return SparkSession.active().createDataset(found, (Encoder<AddFile>) SingleAction.addFileEncoder());
    }

    /** The files with their statistics as columns, as Delta reads them from JSON; else they are read anew for each query. */
    public Dataset<Row> withStatsInternal() {
      if (files() == null) return table.state.withStatsInternal();
      org.apache.spark.sql.classic.SparkSession session =
          (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
      synchronized (this) {
        if (parsed == null) {
          Column read = functions.from_json(functions.col("stats"), statsSchema());
          Dataset<Row> rows = allFiles().withColumn("stats", read);
          parsed = ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().optimizedPlan();
        }
        return org.apache.spark.sql.classic.Dataset.ofRows(session, parsed);
      }
    }

    public long sizeInBytes() {
      return files() == null ? table.state.sizeInBytes() : Delta.sizeOf(files);
    }

    public long numOfFiles() {
      return files() == null ? table.state.numOfFiles() : files.size();
    }

    public Option<Object> sizeInBytesIfKnown() {
      return files() == null ? table.state.sizeInBytesIfKnown() : Option.apply((Object) Long.valueOf(sizeInBytes()));
    }

    public Option<Object> numOfFilesIfKnown() {
      return files() == null ? table.state.numOfFilesIfKnown() : Option.apply((Object) Long.valueOf(numOfFiles()));
    }
  }

  private static boolean isPlain(Snapshot snapshot) {
    return snapshot.version() >= 0
        && PLAIN.containsAll(CollectionConverters.asJava(snapshot.protocol().readerAndWriterFeatureNames()));
  }

  private static List<AddFile> unread(DeltaLog log, Throwable error) {
    LOG.info("Delta's Kernel does not read " + log.dataPath() + "; Spark does", error);
    return null;
  }

  private static boolean agrees(VersionChecksum sum, List<AddFile> files) {
    return files.size() == sum.numFiles() && sizeOf(files) == sum.tableSizeBytes();
  }

  private static boolean areCanonical(List<AddFile> files, Function1 canonical) {
    for (AddFile each : files)
      if (!each.path().equals(canonical.apply(each.path()))) return false;
    return true;
  }

  private static long sizeOf(List<AddFile> files) {
    long sum = 0;
    for (AddFile each : files) sum += each.size();
    return sum;
  }

  private static List<String> values(AddFile file, List<String> keys) {
    List<String> values = new ArrayList<String>();
    for (String key : keys) {
      Option found = file.partitionValues().get(key);
      values.add(found.isDefined() ? (String) found.get() : null);
    }
    return values;
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
    private final Opened table;
    private final OptimisticTransaction transaction;
    private final String owner;

    Draft(Opened table, OptimisticTransaction transaction, String owner) {
      this.table = table;
      this.transaction = transaction;
      this.owner = owner;
    }

    /** Gives the table the columns that files have. */
    public void reshape(Staged staged) {
      Delta.reshape(transaction, staged.metadata.schemaString(), staged.metadata.partitionColumns());
    }

    /** All files. */
    public Seq<AddFile> everything(SparkSession session) throws IOException {
      Expression all = (Expression) Literal.TrueLiteral();
      return within(session, all);
    }

    /** The files with rows for which a condition holds. */
    public Seq<AddFile> within(SparkSession session, String condition) throws IOException, ParseException {
      return within(session,
          ((org.apache.spark.sql.classic.SparkSession) session).sessionState().sqlParser().parseExpression(condition));
    }

    /**
     * As filterFiles finds and registers them, so that a commit of such files by others is a conflict. Spark filters rows of
     * the driver without a job.
     */
    private Seq<AddFile> within(SparkSession session, Expression condition) throws IOException {
      Seq conditions = PythonUtils.toSeq(Collections.singletonList(condition));
      Encoder<AddFile> encoder = SingleAction.addFileEncoder();
      List<AddFile> listed = table.listed(table.state);
      Dataset<Row> all = listed == null ? table.state.allFiles().toDF() : session.createDataset(listed, encoder).toDF();
      Dataset<Row> files = DeltaLog.filterFileList(
          table.state.metadata().partitionSchema(), all, conditions, PythonUtils.toSeq(Collections.emptyList()), true);
      Seq found = PythonUtils.toSeq(
          files.withColumn("stats", functions.lit(null).cast("string")).as(encoder).collectAsList());
      transaction.trackReadPredicates(conditions, false, true);
      transaction.trackFilesRead(found);
      return found;
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
      return committed(session, transaction, actions, operation(mode, predicate, told, reshaped));
    }
  }

  /** Files with the rows of smaller ones. The transaction began with the state in which these were chosen. */
  public static final class Together {
    private final OptimisticTransaction transaction;
    private final Staged staged;
    private final List<AddFile> instead;

    Together(OptimisticTransaction transaction, Staged staged, List<AddFile> instead) {
      this.transaction = transaction;
      this.staged = staged;
      this.instead = instead;
    }

    public Staged staged() {
      return staged;
    }

    public int before() {
      return instead.size();
    }

    public int after() {
      return staged.added.size();
    }

    /** One commit, which says that no row changed. It fails if another one took a file away that it replaces. */
    public long commit(SparkSession session) throws IOException, ReflectiveOperationException {
      transaction.trackFilesRead(PythonUtils.toSeq(instead));
      List<Action> actions = new ArrayList<Action>();
      for (Object each : CollectionConverters.asJava(staged.added)) {
        ObjectNode action = (ObjectNode) JSON.readTree(((AddFile) each).json());
        ((ObjectNode) action.get("add")).put("dataChange", false);
        actions.add(Action.fromJson(action.toString()));
      }
      for (AddFile each : instead) actions.add(each.removeWithTimestamp(System.currentTimeMillis(), false));
      return committed(session, transaction, actions, optimize());
    }
  }

  private static long committed(
      SparkSession session, OptimisticTransaction transaction, List<Action> actions, DeltaOperations.Operation operation) {
    boolean trusted = !session.conf().contains(VERIFIED) && !isPartitionedByTimestamp(transaction.metadata());
    if (trusted) session.conf().set(VERIFIED, "false");
    try {
      return transaction.commit(PythonUtils.toSeq(actions), operation);
    } finally {
      if (trusted) session.conf().unset(VERIFIED);
    }
  }

  /** Only the text of a timestamp may depend on the zone in which it was written. */
  private static boolean isPartitionedByTimestamp(Metadata metadata) {
    for (StructField each : metadata.partitionSchema().fields())
      if (each.dataType() instanceof TimestampType) return true;
    return false;
  }

  /** The history shows an OPTIMIZE of the whole table, and Delta knows that it changes no row. */
  private static DeltaOperations.Operation optimize() throws ReflectiveOperationException {
    Constructor<?> made = DeltaOperations.Optimize.class.getConstructors()[0];
    Class<?>[] types = made.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int n = 0; n < types.length; n++) {
      if (types[n] == boolean.class) values[n] = Boolean.FALSE;
      else if (types[n] == Option.class) values[n] = Option.empty();
      else values[n] = PythonUtils.toSeq(Collections.emptyList());
    }
    return (DeltaOperations.Operation) made.newInstance(values);
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
