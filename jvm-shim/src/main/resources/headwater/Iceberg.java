package io.headwater.spark;

import java.io.IOException;
import java.util.*;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.iceberg.*;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableCommit;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.exceptions.*;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.hadoop.HadoopTableOperations;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.LocationProvider;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.spark.FileRewriteCoordinator;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.SparkTableCache;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.iceberg.spark.actions.RewriteDataFilesSparkAction;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.transforms.Transform;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.StructType;

/** What the engine asks of Iceberg, typed in spark/tables/iceberg/calls.py. Compiled.scala says how this is compiled. */
public final class Iceberg {
  private static final ObjectMapper JSON = new ObjectMapper();

  // --- tables

  /**
   * Iceberg's table of one that a catalog loaded; null: it has another format. That of a view whose newest rows lie in a branch
   * is what that branch is.
   */
  public Table table(Object loaded) {
    if (!(loaded instanceof SparkTable)) return null;
    Table table = ((SparkTable) loaded).table();
    if (!(table instanceof BaseTable) || !(table.properties().containsKey(APART) || table.refs().containsKey(BRANCH))) return table;
    if (!table.properties().containsKey(OWNER)) return table;
    return new BaseTable(new Branch(((HasTableOperations) table).operations()), table.name());
  }

  public boolean isAbsent(Throwable error) {
    return error instanceof NoSuchTableException || error instanceof NoSuchNamespaceException;
  }

  public String state(Table of) throws IOException {
    return state(of.currentSnapshot(), of.schema(), of.spec(), of.specs(), of.uuid(), of.location(), of.properties());
  }

  private String state(TableMetadata of) throws IOException {
    return state(of.currentSnapshot(), of.schema(), of.spec(), of.specsById(), of.uuid(), of.location(), of.properties());
  }

  private String state(
      Snapshot now, Schema schema, PartitionSpec spec, Map<Integer, PartitionSpec> specs, Object uuid, String location,
      Map<String, String> properties) throws IOException {
    return JSON.writeValueAsString(Map.of(
        "snapshot", now == null ? 0L : now.snapshotId(), "schema", schema.schemaId(), "spec", spec.specId(),
        "specs", specs.size(), "uuid", uuid.toString(), "location", location, "properties", properties));
  }

  /** All schemas and partition specs that a table has or had. */
  public String shapes(Table table) {
    List<String> schemas = new ArrayList<String>(), specs = new ArrayList<String>();
    for (Schema each : table.schemas().values()) schemas.add(SchemaParser.toJson(each));
    for (PartitionSpec each : table.specs().values()) specs.add(PartitionSpecParser.toJson(each));
    return "{\"schemas\":" + schemas + ",\"specs\":" + specs + "}";
  }

  /** The schema and the partition spec of a table. */
  public String shape(Table table) {
    return shape(table.schema(), table.spec());
  }

  /** The same of one that would have these columns, and is partitioned by some of them. */
  public String shapeOf(String columns, List<String> partitionedBy) {
    Schema schema = schema(columns);
    return shape(schema, spec(schema, partitionedBy));
  }

  private String shape(Schema schema, PartitionSpec spec) {
    return "{\"schema\":" + SchemaParser.toJson(schema) + ",\"spec\":" + PartitionSpecParser.toJson(spec) + "}";
  }

  private Schema schema(String columns) {
    return SparkSchemaUtil.convert(CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType.fromDDL(columns)));
  }

  private PartitionSpec spec(Schema schema, List<String> partitionedBy) {
    PartitionSpec.Builder spec = PartitionSpec.builderFor(schema);
    for (String each : partitionedBy) spec.identity(each);
    return spec.build();
  }

  // --- snapshots

  /** The snapshots to be undone, and those to be done, to get from one to another; null: they are not all there. */
  public String between(Table table, long since, long now) throws IOException {
    boolean undone = !SnapshotUtil.isAncestorOf(table, now, since);
    List<Long> numbers = undone ? across(table, since, now) : SnapshotUtil.snapshotIdsBetween(table, since, now);
    if (numbers == null) return null;
    List<Object> snapshots = new ArrayList<Object>();
    for (Long each : numbers) {
      Snapshot found = table.snapshot(each);
      Map<String, String> summary = found.summary() == null ? new HashMap<String, String>() : found.summary(); // of an old one
      snapshots.add(Map.of("number", each, "operation", String.valueOf(found.operation()), "summary", summary));
    }
    return JSON.writeValueAsString(Arrays.asList(undone, snapshots));
  }

  /** Those on both ways from the newest common ancestor; null if there is none. */
  private List<Long> across(Table table, long since, long now) {
    List<Long> back = ancestors(table, since), on = ancestors(table, now);
    List<Long> shared = new ArrayList<Long>(on);
    shared.retainAll(back);
    if (shared.isEmpty()) return null;
    List<Long> found = new ArrayList<Long>(back.subList(0, back.indexOf(shared.get(0))));
    found.addAll(on.subList(0, on.indexOf(shared.get(0))));
    return found;
  }

  /** A snapshot and those before it that are still there, newest first. */
  private List<Long> ancestors(Table table, long number) {
    List<Long> found = new ArrayList<Long>();
    Snapshot at = table.snapshot(number);
    while (at != null) {
      found.add(at.snapshotId());
      at = at.parentId() == null ? null : table.snapshot(at.parentId());
    }
    return found;
  }

  public boolean hasDeletes(Table table, long snapshot) {
    return !table.snapshot(snapshot).deleteManifests(table.io()).isEmpty();
  }

  /**
   * The places of the files, also those of deletes, that a snapshot added or removed: lines such as `3 {"1000":"a"}`, a spec
   * and the partition values by its fields.
   *
   * A removed file stands in a manifest among all others that it ever stood with, and to read that takes long. New files stand
   * apart. So theirs are read first, and the rest only if the snapshot says that it changed more.
   */
  public String changed(Table table, long number) throws IOException {
    Snapshot snapshot = table.snapshot(number);
    Places places = new Places(table);
    boolean more = false;
    for (ManifestFile each : snapshot.allManifests(table.io())) {
      if (each.snapshotId() == null || each.snapshotId().longValue() != number) continue;
      if (each.hasExistingFiles() || each.hasDeletedFiles()) more = true;
      else places.list(each);
    }
    if (more && !places.areAllOf(snapshot)) {
      SnapshotChanges changes = SnapshotChanges.builderFor(table).snapshot(snapshot).build();
      places.add(changes.removedDataFiles());
      places.add(changes.removedDeleteFiles());
      places.add(changes.addedDataFiles());
      places.add(changes.addedDeleteFiles());
    }
    return places.told();
  }

  /** Those of all data files of a snapshot. */
  public String live(Table table, long number) throws IOException {
    Places places = new Places(table);
    for (ManifestFile each : table.snapshot(number).dataManifests(table.io())) places.list(each);
    return places.told();
  }

  private static final class Places {
    private final Table table;
    private final Set<String> found = new LinkedHashSet<String>();
    private final Set<Integer> specs = new HashSet<Integer>();
    private boolean ambiguous;

    Places(Table table) {
      this.table = table;
    }

    /** Adds the files that a manifest lists and does not call removed. */
    void list(ManifestFile manifest) throws IOException {
      ManifestReader<? extends ContentFile<?>> files = manifest.content() == ManifestContent.DATA
          ? ManifestFiles.read(manifest, table.io(), table.specs())
          : ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs());
      try {
        add(files.select(Collections.singletonList("partition")));
      } finally {
        files.close();
      }
    }

    void add(Iterable<? extends ContentFile<?>> files) {
      for (ContentFile<?> each : files) {
        PartitionSpec spec = (PartitionSpec) table.specs().get(each.specId());
        specs.add(each.specId());
        ambiguous |= isAmbiguous(spec, each.partition());
        found.add(each.specId() + " " + SingleValueParser.toJson(spec.rawPartitionType(), each.partition()));
      }
    }

    /** Whether Iceberg's library counts a partition as one with another: it counts names, and NULL has that of the text `null`. */
    private static boolean isAmbiguous(PartitionSpec spec, StructLike partition) {
      for (int n = 0; n < spec.fields().size(); n++) {
        Type type = ((Types.NestedField) spec.partitionType().fields().get(n)).type();
        if (type.typeId() != Type.TypeID.STRING) continue; // of other types, no value that is followed has this name
        Transform transform = ((PartitionField) spec.fields().get(n)).transform();
        if (!transform.isVoid() && "null".equals(transform.toHumanString(type, partition.get(n, Object.class)))) return true;
      }
      return false;
    }

    /**
     * Whether a snapshot changed no other partitions, by its own count. The count is trusted if Iceberg's own library took it,
     * for other programs may count otherwise, and if no two partitions count as one.
     */
    boolean areAllOf(Snapshot snapshot) {
      if (snapshot.summary() == null || ambiguous) return false;
      Object counted = snapshot.summary().get("changed-partition-count");
      return snapshot.summary().containsKey("iceberg-version") && specs.size() == 1
          && String.valueOf(found.size()).equals(counted);
    }

    String told() {
      return String.join("\n", found);
    }
  }

  // --- files

  public long size(Iterable<DataFile> files) {
    long size = 0;
    for (DataFile each : files) size += each.fileSizeInBytes();
    return size;
  }

  /** The bytes of the files that tasks read. */
  public long sizeOf(List<FileScanTask> tasks) {
    long size = 0;
    for (FileScanTask each : tasks) size += each.file().fileSizeInBytes();
    return size;
  }

  /** Tasks that read files; null if one is not there, or a file of deletes removes rows of it. */
  public List<FileScanTask> tasks(Table table, long snapshot, List<String> names) throws IOException {
    Set<String> wanted = new HashSet<String>(names);
    List<FileScanTask> found = new ArrayList<FileScanTask>();
    CloseableIterable<FileScanTask> planned = table.newScan().useSnapshot(snapshot).planFiles();
    try {
      for (FileScanTask each : planned)
        if (wanted.contains(each.file().location()) && each.deletes().isEmpty()) found.add(each);
    } finally {
      planned.close();
    }
    return found.size() == names.size() ? found : null;
  }

  /**
   * Tasks that read the files of a snapshot that may have a row of which all conditions hold, by the statistics of files; null
   * if a file of deletes removes rows of one.
   */
  public List<FileScanTask> within(Table table, long snapshot, List<Predicate> conditions) throws IOException {
    Expression all = Expressions.alwaysTrue();
    for (Predicate each : conditions) all = Expressions.and(all, known(table, each));
    List<FileScanTask> found = new ArrayList<FileScanTask>();
    // The tasks read whole files. Otherwise a reader would skip row groups by what is left of the conditions.
    TableScan scan = (TableScan) ((TableScan) table.newScan().useSnapshot(snapshot).filter(all)).ignoreResiduals();
    CloseableIterable<FileScanTask> planned = scan.planFiles();
    try {
      for (FileScanTask each : planned) {
        if (!each.deletes().isEmpty()) return null;
        found.add(each);
      }
    } finally {
      planned.close();
    }
    return found;
  }

  /** A condition on columns of a table; one that Iceberg does not know always holds. */
  private Expression known(Table table, Predicate condition) {
    try {
      Expression found = SparkV2Filters.convert(condition);
      if (found == null) return Expressions.alwaysTrue();
      Binder.bind(table.schema().asStruct(), found, true);
      return found;
    } catch (ValidationException other) {
      return Expressions.alwaysTrue();
    } catch (IllegalArgumentException other) {
      return Expressions.alwaysTrue();
    }
  }

  public List<String> locations(List<FileScanTask> tasks) {
    List<String> found = new ArrayList<String>();
    for (FileScanTask each : tasks) found.add(each.file().location());
    return found;
  }

  /**
   * Tasks that read files which one of two snapshots has, and the other one has not, or with other deletes: those of the
   * earlier snapshots, and those of the later ones.
   */
  public List<List<FileScanTask>> differing(Table table, List<List<Number>> spans) throws IOException {
    List<FileScanTask> went = new ArrayList<FileScanTask>(), came = new ArrayList<FileScanTask>();
    for (List<Number> each : spans) {
      Map<String, List<FileScanTask>> before = planned(table, ((Number) each.get(0)).longValue());
      Map<String, List<FileScanTask>> after = planned(table, ((Number) each.get(1)).longValue());
      went.addAll(surplus(before, after));
      came.addAll(surplus(after, before));
    }
    return Arrays.asList(went, came);
  }

  /** The tasks that read a snapshot, by file and deletes. A table may have a file twice. */
  private Map<String, List<FileScanTask>> planned(Table table, long snapshot) throws IOException {
    Map<String, List<FileScanTask>> found = new HashMap<String, List<FileScanTask>>();
    CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(snapshot).planFiles();
    try {
      for (FileScanTask each : tasks) {
        List<String> deletes = new ArrayList<String>();
        // Deletion vectors of many files lie in one.
        for (DeleteFile delete : each.deletes()) deletes.add(delete.location() + "\n" + delete.contentOffset());
        Collections.sort(deletes);
        String key = each.file().location() + "\n" + String.join("\n", deletes);
        List<FileScanTask> same = (List<FileScanTask>) found.get(key);
        if (same == null) found.put(key, same = new ArrayList<FileScanTask>());
        same.add(each);
      }
    } finally {
      tasks.close();
    }
    return found;
  }

  private List<FileScanTask> surplus(Map<String, List<FileScanTask>> of, Map<String, List<FileScanTask>> other) {
    List<FileScanTask> found = new ArrayList<FileScanTask>();
    for (String each : of.keySet()) {
      List<FileScanTask> here = (List<FileScanTask>) of.get(each), others = (List<FileScanTask>) other.get(each);
      int there = others == null ? 0 : others.size();
      if (there < here.size()) found.addAll(here.subList(there, here.size()));
    }
    return found;
  }

  /** Lets Spark read the files of tasks as a table under a key. */
  public void lend(Table table, String key, List<FileScanTask> tasks) {
    ScanTaskSetManager.get().stageTasks(table, key, tasks);
    SparkTableCache.get().add(key, table);
  }

  public void takeBack(Table table, String key) {
    SparkTableCache.get().remove(key);
    ScanTaskSetManager.get().removeTasks(table, key);
  }

  /** Lets Spark write files for a table under a key. */
  public void open(Table table, String key) {
    SparkTableCache.get().add(key, table);
  }

  public Set<DataFile> written(Table table, String key) {
    return FileRewriteCoordinator.get().fetchNewFiles(table, key);
  }

  public void close(Table table, String key) {
    SparkTableCache.get().remove(key);
    FileRewriteCoordinator.get().clearRewrite(table, key);
  }

  // --- publications

  /** A transaction on a table as it is now. A look of another thread may bring the table up to date meanwhile. */
  public Transaction transaction(Table table) {
    table.refresh();
    BaseTransaction begun = (BaseTransaction) table.newTransaction();
    return begun.startMetadata() == begun.currentMetadata() ? begun : transaction(table);
  }

  /** The same that gives the table other columns and another partitioning, and no rows. */
  public Transaction replacement(Table table, String columns, List<String> partitionedBy, Map<String, String> properties) {
    TableOperations operations = ((HasTableOperations) table).operations();
    TableMetadata base = operations.refresh();
    Schema schema = schema(columns);
    TableMetadata replaced = base.buildReplacement(
        schema, spec(schema, partitionedBy), SortOrder.unsorted(), base.location(), properties);
    BaseTransaction begun = (BaseTransaction) Transactions.replaceTableTransaction(table.name(), operations, replaced);
    return begun.startMetadata() == base ? begun : replacement(table, columns, partitionedBy, properties);
  }

  /** Whether files of a table fit another one. */
  public boolean fits(Table written, Table now) {
    return written.uuid().equals(now.uuid()) && written.schema().sameSchema(now.schema()) && written.spec().equals(now.spec());
  }

  public AppendFiles append(Transaction transaction, Iterable<DataFile> files) {
    AppendFiles update = transaction.newAppend();
    for (DataFile each : files) update.appendFile(each);
    return update;
  }

  public OverwriteFiles rewrite(Transaction transaction, List<FileScanTask> instead, Iterable<DataFile> files) {
    OverwriteFiles update = transaction.newOverwrite();
    for (FileScanTask each : instead) update.deleteFile((DataFile) each.file());
    return added(update, files);
  }

  /** Files in the place of all rows for which a filter holds. */
  public OverwriteFiles overwrite(Transaction transaction, String filter, Iterable<DataFile> files) {
    OverwriteFiles update = transaction.newOverwrite();
    return added(update.overwriteByRowFilter(ExpressionParser.fromJson(filter, transaction.table().schema())), files);
  }

  private OverwriteFiles added(OverwriteFiles update, Iterable<DataFile> files) {
    for (DataFile each : files) update.addFile(each);
    return update;
  }

  /** Makes an update a part of a transaction: the summary of its snapshot says more, and one of it is the table's, too. */
  public void include(Transaction transaction, SnapshotUpdate<?> update, Map<String, String> summary, String property) {
    for (String each : summary.keySet()) update.set(each, (String) summary.get(each));
    update.commit();
    transaction.updateProperties().set(property, (String) summary.get(property)).commit();
  }

  /** The state of the table before a transaction. */
  public String before(Transaction transaction) throws IOException {
    return state(((BaseTransaction) transaction).startMetadata());
  }

  public String after(Transaction transaction) throws IOException {
    return state(((BaseTransaction) transaction).currentMetadata());
  }

  /** False: another program's commit came first, or nobody knows which did; a look at the table tells. */
  public boolean commit(Transaction transaction) {
    BaseTransaction of = (BaseTransaction) transaction;
    try {
      of.underlyingOps().commit(of.startMetadata(), of.currentMetadata());
      return true;
    } catch (CommitFailedException early) {
      return false;
    } catch (CommitStateUnknownException unknown) {
      return false;
    }
  }

  /**
   * Takes a commit back that made a dropped table again, and says whether it did. In a catalog of directories a table is there
   * while metadata of it is; such a catalog does not notice that the metadata before is gone.
   */
  public boolean isTakenBack(Transaction transaction) {
    TableOperations operations = ((BaseTransaction) transaction).underlyingOps();
    TableMetadata base = ((BaseTransaction) transaction).startMetadata();
    String before = base.metadataFileLocation();
    FileIO io = operations.io();
    if (!(operations instanceof HadoopTableOperations) || before == null || io.newInputFile(before).exists()) return false;
    String folder = base.location() + "/metadata", name = before.substring(before.lastIndexOf("/v") + 2);
    String own = "/v" + (Integer.parseInt(name.substring(0, name.indexOf('.'))) + 1) + "."; // the directory numbers its commits
    boolean alone = true; // else somebody made another table there
    List<String> mine = new ArrayList<String>();
    for (FileInfo each : ((SupportsPrefixOperations) io).listPrefix(folder)) {
      if (!each.location().endsWith(".metadata.json")) continue;
      if (each.location().contains(own)) mine.add(each.location());
      else alone = false;
    }
    mine.add(folder + "/version-hint.text");
    for (String each : mine) io.deleteFile(each);
    if (alone) ((SupportsPrefixOperations) io).deletePrefix(base.location());
    return true;
  }

  // --- groups whose members are committed together

  private static final String OWNER = "headwater.owner";
  /** The property of a view whose runs write a branch. A view without it that has the branch writes its main branch next. */
  private static final String APART = "headwater.apart";
  /** The snapshot that the main branch of such a view got last from here. */
  private static final String SHOWN = "headwater.shown";
  private static final String BRANCH = "headwater", MAIN = SnapshotRef.MAIN_BRANCH;

  private final Map<String, RESTCatalog> catalogs = new HashMap<String, RESTCatalog>();

  /** Whether a catalog with these options commits several tables in one request. */
  public boolean commitsTogether(Map<String, String> options) {
    return "rest".equalsIgnoreCase((String) options.get(CatalogUtil.ICEBERG_CATALOG_TYPE))
        || RESTCatalog.class.getName().equals(options.get(CatalogProperties.CATALOG_IMPL));
  }

  /** Such a catalog, which is opened once. */
  public synchronized RESTCatalog catalog(SparkSession session, String name, Map<String, String> options) {
    RESTCatalog found = (RESTCatalog) catalogs.get(name);
    if (found == null) {
      found = (RESTCatalog) CatalogUtil.buildIcebergCatalog(name, options, session.sessionState().newHadoopConf());
      catalogs.put(name, found);
    }
    return found;
  }

  /**
   * Lets the main branches of tables be at these snapshots, by one request for all of them. Tells which had rows of another
   * program there, and which lack their snapshot, by their places. Null: another commit came first.
   *
   * A main branch that is at a later snapshot from here stays: an engine that knows more put it there.
   */
  public String show(
      RESTCatalog catalog, List<List<String>> names, List<Table> tables, List<Number> snapshots) throws IOException {
    List<TableCommit> commits = new ArrayList<TableCommit>();
    List<Integer> foreign = new ArrayList<Integer>(), lost = new ArrayList<Integer>();
    for (int n = 0; n < tables.size(); n++) {
      TableOperations operations = ((HasTableOperations) tables.get(n)).operations();
      if (!(operations instanceof Branch)) continue;
      TableMetadata base = ((Branch) operations).of.refresh();
      Snapshot wanted = base.snapshot(((Number) snapshots.get(n)).longValue()), now = base.currentSnapshot();
      if (wanted == null || (now == null && base.ref(BRANCH) == null)) {
        lost.add(n);
        continue;
      }
      String before = base.property(SHOWN, ""), at = String.valueOf(wanted.snapshotId());
      boolean known = now != null && String.valueOf(now.snapshotId()).equals(before);
      if (known && (before.equals(at) || now.sequenceNumber() > wanted.sequenceNumber())) continue;
      if (!known && now != null && !before.isEmpty()) foreign.add(n);
      TableMetadata.Builder builder = TableMetadata.buildFrom(base);
      // Else the newest rows would be those that the main branch goes back to.
      if (base.ref(BRANCH) == null) builder.setBranchSnapshot(now.snapshotId(), BRANCH);
      TableMetadata after = builder.setBranchSnapshot(wanted.snapshotId(), MAIN)
          .setProperties(Collections.singletonMap(SHOWN, at)).build();
      List<String> parts = (List<String>) names.get(n);
      String[] namespace = (String[]) parts.subList(0, parts.size() - 1).toArray(new String[0]);
      TableIdentifier identifier = TableIdentifier.of(Namespace.of(namespace), (String) parts.get(parts.size() - 1));
      commits.add(TableCommit.create(identifier, base, after));
    }
    try {
      if (!commits.isEmpty()) catalog.commitTransaction(commits);
    } catch (CommitFailedException early) {
      return null;
    }
    return JSON.writeValueAsString(Arrays.asList(foreign, lost));
  }

  /** Lets the main branch of a view's table have its newest rows, and removes the other one. */
  public void rejoin(Table table) {
    TableOperations operations = ((HasTableOperations) table).operations();
    if (!(operations instanceof Branch)) return;
    TableOperations of = ((Branch) operations).of;
    TableMetadata base = of.refresh();
    if (base.ref(BRANCH) == null) return;
    of.commit(base, Branch.joined(base).build());
  }

  /** A table whose main branch is another one of the real table. Both change names, so what either names stays. */
  private static final class Branch implements TableOperations {
    final TableOperations of;
    private TableMetadata real, told;

    Branch(TableOperations of) {
      this.of = of;
    }

    public synchronized TableMetadata current() {
      return told(of.current());
    }

    public synchronized TableMetadata refresh() {
      return told(of.refresh());
    }

    private TableMetadata told(TableMetadata now) {
      if (now == real) return told;
      SnapshotRef newest = now.ref(BRANCH), shown = now.ref(MAIN);
      real = now;
      if (newest == null) return told = now; // it begins at the main branch
      TableMetadata.Builder builder = TableMetadata.buildFrom(now).setBranchSnapshot(newest.snapshotId(), MAIN);
      if (shown == null) builder.removeRef(BRANCH);
      else builder.setBranchSnapshot(shown.snapshotId(), BRANCH);
      return told = builder.discardChanges().withMetadataLocation(now.metadataFileLocation()).build();
    }

    public synchronized void commit(TableMetadata base, TableMetadata updated) {
      if (base != told) throw new CommitFailedException("the table changed meanwhile");
      if (base != updated) of.commit(real, written(real, updated.changes()));
    }

    /**
     * The real table after changes of this one. Other columns are those of all branches, so the main branch gets the rows that
     * come with them at once. So does that of a view which is committed alone.
     */
    private static TableMetadata written(TableMetadata base, List<MetadataUpdate> changes) {
      boolean joins = !base.properties().containsKey(APART);
      for (Object each : changes)
        joins |= each instanceof MetadataUpdate.RemoveSnapshotRef && ((MetadataUpdate.RemoveSnapshotRef) each).name().equals(MAIN);
      TableMetadata.Builder builder = joins ? joined(base) : TableMetadata.buildFrom(base);
      for (Object each : changes) {
        MetadataUpdate update = joins ? (MetadataUpdate) each : swapped((MetadataUpdate) each);
        update.applyTo(builder);
      }
      return builder.build();
    }

    static TableMetadata.Builder joined(TableMetadata base) {
      TableMetadata.Builder builder = TableMetadata.buildFrom(base);
      if (base.ref(BRANCH) != null) builder.setBranchSnapshot(base.ref(BRANCH).snapshotId(), MAIN).removeRef(BRANCH);
      return builder.removeProperties(Collections.singleton(SHOWN));
    }

    private static MetadataUpdate swapped(MetadataUpdate update) {
      if (!(update instanceof MetadataUpdate.SetSnapshotRef)) return update;
      MetadataUpdate.SetSnapshotRef set = (MetadataUpdate.SetSnapshotRef) update;
      if (!set.name().equals(MAIN)) return update;
      return new MetadataUpdate.SetSnapshotRef(
          BRANCH, Long.valueOf(set.snapshotId()), SnapshotRefType.BRANCH, set.minSnapshotsToKeep(), set.maxSnapshotAgeMs(),
          set.maxRefAgeMs());
    }

    public FileIO io() {
      return of.io();
    }

    public EncryptionManager encryption() {
      return of.encryption();
    }

    public String metadataFileLocation(String name) {
      return of.metadataFileLocation(name);
    }

    public LocationProvider locationProvider() {
      return of.locationProvider();
    }

    public TableOperations temp(TableMetadata uncommitted) {
      return of.temp(uncommitted);
    }

    public long newSnapshotId() {
      return of.newSnapshotId();
    }

    public boolean requireStrictCleanup() {
      return of.requireStrictCleanup();
    }
  }

  // --- small files

  /** The bytes of each data file of a table; none of one with partitions. */
  public String sizes(Table table) throws IOException {
    List<Long> found = new ArrayList<Long>();
    Snapshot now = table.spec().isUnpartitioned() ? table.currentSnapshot() : null;
    if (now == null) return "[]";
    CloseableIterable<FileScanTask> planned = table.newScan().useSnapshot(now.snapshotId()).planFiles();
    try {
      for (FileScanTask each : planned) found.add(each.file().fileSizeInBytes());
    } finally {
      planned.close();
    }
    return JSON.writeValueAsString(found);
  }

  /** Puts the files of options together, as Iceberg does; how many it replaced, and by how many. */
  public String compact(SparkSession session, Table table, Map<String, String> options) throws IOException {
    RewriteDataFilesSparkAction action = SparkActions.get(session).rewriteDataFiles(table);
    for (String each : options.keySet()) action.option(each, (String) options.get(each));
    RewriteDataFiles.Result done = (RewriteDataFiles.Result) action.execute();
    return JSON.writeValueAsString(Arrays.asList(done.rewrittenDataFilesCount(), done.addedDataFilesCount()));
  }

  // --- retention

  public void set(Table table, String property, String value) {
    table.updateProperties().set(property, value).commit();
  }

  /**
   * Expires snapshots that were replaced longer ago than the table keeps them. Iceberg counts from the time when one was made:
   * that of yesterday would go when it is replaced. So the one stays that readers saw at the limit.
   * @param now the time (ms)
   */
  public void expire(Table table, long now) {
    long kept = PropertyUtil.propertyAsLong(
        table.properties(), TableProperties.MAX_SNAPSHOT_AGE_MS, TableProperties.MAX_SNAPSHOT_AGE_MS_DEFAULT);
    long limit = now - kept;
    Snapshot at = table.currentSnapshot();
    while (at != null && at.timestampMillis() > limit) at = at.parentId() == null ? null : table.snapshot(at.parentId());
    table.expireSnapshots().expireOlderThan(at == null ? limit : at.timestampMillis()).commit();
  }

  /**
   * Whether all metadata in a table's directory is its own. A table that is renamed keeps its directory, and a new one of the
   * old name may get the same.
   */
  public boolean isAlone(SparkSession session, Table table) throws IOException {
    TableMetadata now = ((BaseTable) table).operations().current();
    Set<String> own = new HashSet<String>();
    own.add(name(now.metadataFileLocation()));
    for (TableMetadata.MetadataLogEntry each : now.previousFiles()) own.add(name(each.file()));
    Path folder = new Path(table.location() + "/metadata");
    FileSystem files = folder.getFileSystem(session.sessionState().newHadoopConf());
    if (!files.exists(folder)) return true;
    for (FileStatus each : files.listStatus(folder)) {
      String file = each.getPath().getName();
      if (!file.contains(".metadata.json") || own.contains(file)) continue;
      TableMetadata other;
      try {
        other = TableMetadataParser.read(table.io().newInputFile(folder + "/" + file));
      } catch (RuntimeException unreadable) {
        return false;
      }
      if (!now.uuid().equals(other.uuid())) return false;
    }
    return true;
  }

  private static String name(String file) {
    return file.substring(file.lastIndexOf('/') + 1);
  }

  /** Deletes files of a directory that no snapshot names. */
  public void deleteUnnamed(SparkSession session, Table table, String place, long before) {
    SparkActions.get(session).deleteOrphanFiles(table).location(place).olderThan(before).execute();
  }

  public boolean exists(SparkSession session, String pattern) throws IOException {
    Path path = new Path(pattern);
    FileStatus[] found = path.getFileSystem(session.sessionState().newHadoopConf()).globStatus(path);
    return found != null && found.length > 0;
  }
}
