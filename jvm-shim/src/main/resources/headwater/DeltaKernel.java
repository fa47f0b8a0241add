package io.headwater.spark;

import java.util.*;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.delta.kernel.Snapshot;
import io.delta.kernel.Table;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.internal.ScanImpl;
import io.delta.kernel.internal.SnapshotImpl;
import io.delta.kernel.internal.util.VectorUtils;
import io.delta.kernel.utils.CloseableIterator;
import org.apache.hadoop.conf.Configuration;

/** Delta's Kernel: it reads a log without Spark. Not each version of Delta comes with it, so this may not compile. */
public final class DeltaKernel implements Delta.Replay {
  private static final ObjectMapper JSON = new ObjectMapper();

  public List<String> files(Configuration settings, String table, long version, boolean statistics) throws Exception {
    Engine engine = DefaultEngine.create(settings);
    List<String> found = new ArrayList<String>();
    ScanImpl scan = (ScanImpl) snapshot(engine, table, version).getScanBuilder().build();
    CloseableIterator batches = scan.getScanFiles(engine, statistics);
    try {
      while (batches.hasNext()) {
        CloseableIterator rows = ((FilteredColumnarBatch) batches.next()).getRows();
        try {
          while (rows.hasNext()) found.add(JSON.writeValueAsString(action(((Row) rows.next()).getStruct(0))));
        } finally {
          rows.close();
        }
      }
    } finally {
      batches.close();
    }
    return found;
  }

  public Long last(Configuration settings, String table, long version, String application) throws Exception {
    Engine engine = DefaultEngine.create(settings);
    Optional found = ((SnapshotImpl) snapshot(engine, table, version)).getLatestTransactionVersion(engine, application);
    return found.isPresent() ? (Long) found.get() : null;
  }

  private static Snapshot snapshot(Engine engine, String table, long version) throws Exception {
    return Table.forPath(engine, table).getSnapshotAsOfVersion(engine, version);
  }

  private static Map<String, Object> action(Row add) {
    Map<String, Object> told = new LinkedHashMap<String, Object>();
    told.put("path", add.getString(at(add, "path")));
    told.put("partitionValues", VectorUtils.toJavaMap(add.getMap(at(add, "partitionValues"))));
    told.put("size", add.getLong(at(add, "size")));
    told.put("modificationTime", add.getLong(at(add, "modificationTime")));
    told.put("dataChange", false); // as in each state: no commit of these files follows
    if (!add.isNullAt(at(add, "tags"))) told.put("tags", VectorUtils.toJavaMap(add.getMap(at(add, "tags"))));
    if (!add.isNullAt(at(add, "deletionVector"))) told.put("deletionVector", vector(add.getStruct(at(add, "deletionVector"))));
    int stats = at(add, "stats");
    if (stats >= 0 && !add.isNullAt(stats)) told.put("stats", add.getString(stats));
    for (String name : new String[] {"baseRowId", "defaultRowCommitVersion"})
      if (!add.isNullAt(at(add, name))) told.put(name, add.getLong(at(add, name)));
    return told;
  }

  private static Map<String, Object> vector(Row found) {
    Map<String, Object> told = new LinkedHashMap<String, Object>();
    told.put("storageType", found.getString(at(found, "storageType")));
    told.put("pathOrInlineDv", found.getString(at(found, "pathOrInlineDv")));
    if (!found.isNullAt(at(found, "offset"))) told.put("offset", found.getInt(at(found, "offset")));
    told.put("sizeInBytes", found.getInt(at(found, "sizeInBytes")));
    told.put("cardinality", found.getLong(at(found, "cardinality")));
    return told;
  }

  private static int at(Row row, String name) {
    return row.getSchema().indexOf(name);
  }
}
