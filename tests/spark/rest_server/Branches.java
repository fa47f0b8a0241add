import io.headwater.spark.Iceberg;
import java.util.*;
import org.apache.iceberg.*;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.Types;

/** Carries out the steps of its arguments on two tables of a REST catalog, and prints the branches of a table after each. */
public final class Branches {
  private static final Map<String, String> MARKS = Map.of("headwater.owner", "me", "headwater.apart", "true");

  private final Iceberg calls = new Iceberg();
  private final RESTCatalog catalog = new RESTCatalog();
  private final Map<String, String> options;
  private final Map<Long, String> names = new HashMap<>();
  private int files = 0;

  public static void main(String[] arguments) throws Exception {
    Branches here = new Branches(arguments[0]);
    for (String step : Arrays.asList(arguments).subList(1, arguments.length)) here.take(step.split(" "));
  }

  private Branches(String uri) {
    options = Map.of("type", "rest", "uri", uri);
    catalog.initialize("rest", options);
    catalog.createNamespace(Namespace.of("d"));
    Schema schema = new Schema(Types.NestedField.optional(1, "n", Types.LongType.get()));
    for (String name : List.of("a", "b"))
      catalog.createTable(identifier(name), schema, PartitionSpec.unpartitioned(), MARKS);
  }

  private void take(String[] step) throws Exception {
    String table = step[1].substring(0, 1), told = "";
    switch (step[0]) {
      case "publish": publish(table, step[1], calls.transaction(view(table))); break;
      case "redefine":
        publish(table, step[1], calls.replacement(view(table), "n BIGINT, m BIGINT", List.of(), MARKS));
        break;
      case "show": told = show(Arrays.asList(step).subList(1, step.length)); break;
      case "write": // another program
        Table other = catalog.loadTable(identifier(table));
        other.newAppend().appendFile(file(other)).commit();
        names.put(other.currentSnapshot().snapshotId(), step[1]);
        break;
      case "expire": calls.expire(view(table), System.currentTimeMillis() + 30L * 24 * 3_600_000); break;
      case "alone": catalog.loadTable(identifier(table)).updateProperties().remove("headwater.apart").commit(); break;
      case "apart":
        catalog.loadTable(identifier(table)).updateProperties().set("headwater.apart", "true").commit();
        break;
      case "rejoin": calls.rejoin(view(table)); break;
    }
    System.out.println(String.join(" ", step) + told + " -> " + branches(table));
  }

  private void publish(String table, String name, Transaction transaction) throws Exception {
    SnapshotUpdate<?> update = calls.append(transaction, List.of(file(transaction.table())));
    calls.include(transaction, update, Map.of("headwater.version", name), "headwater.version");
    if (!calls.commit(transaction)) throw new IllegalStateException("another commit came first");
    names.put(view(table).currentSnapshot().snapshotId(), name);
  }

  private String show(List<String> wanted) throws Exception {
    List<List<String>> identifiers = new ArrayList<>();
    List<Table> tables = new ArrayList<>();
    List<Number> snapshots = new ArrayList<>();
    for (String each : wanted) {
      identifiers.add(List.of("d", each.substring(0, 1)));
      tables.add(view(each.substring(0, 1)));
      names.forEach((number, name) -> { if (name.equals(each)) snapshots.add(number); });
    }
    return " " + calls.show(catalog, identifiers, tables, snapshots);
  }

  private String branches(String table) {
    Table real = catalog.loadTable(identifier(table));
    List<String> found = new ArrayList<>();
    new TreeMap<>(real.refs()).forEach((name, ref) -> found.add(name + "=" + names.get(ref.snapshotId())));
    int count = 0;
    for (Snapshot each : real.snapshots()) count++;
    return String.join(" ", found) + " of " + count + ", sees " + names.get(view(table).currentSnapshot().snapshotId());
  }

  private Table view(String table) {
    return calls.table(new SparkTable(catalog.loadTable(identifier(table))));
  }

  private static TableIdentifier identifier(String table) {
    return TableIdentifier.of("d", table);
  }

  private DataFile file(Table table) {
    return DataFiles.builder(table.spec()).withPath("/nowhere/" + files++).withFileSizeInBytes(1).withRecordCount(1)
        .withFormat(FileFormat.PARQUET).build();
  }
}
