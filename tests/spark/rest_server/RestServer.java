import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.*;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.*;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode;
import org.apache.iceberg.rest.RESTSerializers;
import org.apache.iceberg.rest.requests.*;
import org.apache.iceberg.rest.responses.*;
import org.apache.iceberg.shaded.com.fasterxml.jackson.annotation.JsonAutoDetect;
import org.apache.iceberg.shaded.com.fasterxml.jackson.annotation.PropertyAccessor;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.DeserializationFeature;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.PropertyNamingStrategies;

/**
 * An Iceberg REST catalog for tests: Iceberg's own handlers of requests (`CatalogHandlers`, which its REST fixture serves,
 * too) over its catalog of directories. A commit of several tables is one step: no request sees a part of it.
 *
 * `GET /count` says how many of these were made. `POST /fail?n` lets the next n of them fail before they do anything, and
 * `POST /lose?n` loses their answers.
 */
public final class RestServer {
  private static final String ASKED = "a test asked for this failure";

  private final ObjectMapper json = new ObjectMapper();
  private final HadoopCatalog catalog;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private final AtomicInteger together = new AtomicInteger(), failing = new AtomicInteger(), losing = new AtomicInteger();

  public static void main(String[] arguments) throws IOException {
    new RestServer(arguments[0]);
  }

  private RestServer(String warehouse) throws IOException {
    json.setVisibility(PropertyAccessor.FIELD, JsonAutoDetect.Visibility.ANY);
    json.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    json.setPropertyNamingStrategy(new PropertyNamingStrategies.KebabCaseStrategy());
    RESTSerializers.registerAll(json);
    catalog = new HadoopCatalog(new Configuration(), warehouse);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", this::answer);
    server.start();
    System.out.println(server.getAddress().getPort());
  }

  private void answer(HttpExchange asked) throws IOException {
    byte[] body = asked.getRequestBody().readAllBytes(), told = new byte[0];
    int code = 200;
    boolean reads = !asked.getRequestMethod().equals("POST") && !asked.getRequestMethod().equals("DELETE");
    (reads ? lock.readLock() : lock.writeLock()).lock();
    try {
      Object found = handled(asked, new String(body, StandardCharsets.UTF_8));
      if (found == null) code = 204;
      else told = json.writeValueAsBytes(found);
    } catch (Exception error) {
      code = code(error);
      if (code == 500 && !(error.getMessage() + "").contains(ASKED)) error.printStackTrace();
      told = json.writeValueAsBytes(ErrorResponse.builder().responseCode(code)
          .withType(error.getClass().getSimpleName()).withMessage(error.getMessage()).build());
    } finally {
      (reads ? lock.readLock() : lock.writeLock()).unlock();
    }
    boolean silent = told.length == 0 || asked.getRequestMethod().equals("HEAD");
    asked.getResponseHeaders().add("Content-Type", "application/json");
    asked.sendResponseHeaders(code, silent ? -1 : told.length);
    if (!silent) asked.getResponseBody().write(told);
    asked.close();
  }

  private Object handled(HttpExchange asked, String body) throws Exception {
    String method = asked.getRequestMethod();
    String[] path = asked.getRequestURI().getRawPath().substring(1).replaceFirst("^v1/", "").split("/");
    for (int n = 0; n < path.length; n++) path[n] = URLDecoder.decode(path[n], StandardCharsets.UTF_8);
    String asks = method + " " + path[0] + (path.length > 2 ? " " + path[2] : "") + " " + path.length;
    String query = Objects.requireNonNullElse(asked.getRequestURI().getQuery(), "");
    Namespace in = path.length > 1 ? Namespace.of(path[1].split("\u001f")) : Namespace.empty();
    TableIdentifier table = path.length > 3 ? TableIdentifier.of(in, path[3]) : null;
    switch (asks) {
      case "GET config 1": return ConfigResponse.builder().build();
      case "GET count 1": return together.get();
      case "POST fail 1": failing.set(Integer.parseInt(query)); return null;
      case "POST lose 1": losing.set(Integer.parseInt(query)); return null;
      case "GET namespaces 1": return CatalogHandlers.listNamespaces(catalog, parent(query));
      case "POST namespaces 1": // a directory keeps no properties
        Namespace place = read(body, CreateNamespaceRequest.class).namespace();
        return CatalogHandlers.createNamespace(catalog, CreateNamespaceRequest.builder().withNamespace(place).build());
      case "GET namespaces 2": return CatalogHandlers.loadNamespace(catalog, in);
      case "HEAD namespaces 2": CatalogHandlers.namespaceExists(catalog, in); return null;
      case "DELETE namespaces 2": CatalogHandlers.dropNamespace(catalog, in); return null;
      case "GET namespaces tables 3": return CatalogHandlers.listTables(catalog, in);
      case "GET namespaces views 3": return ListTablesResponse.builder().build();
      case "POST namespaces tables 3":
        CreateTableRequest made = read(body, CreateTableRequest.class);
        return made.stageCreate()
            ? CatalogHandlers.stageTableCreate(catalog, in, made) : CatalogHandlers.createTable(catalog, in, made);
      case "GET namespaces tables 4": return CatalogHandlers.loadTable(catalog, table, SnapshotMode.ALL);
      case "HEAD namespaces tables 4": CatalogHandlers.tableExists(catalog, table); return null;
      case "POST namespaces tables 4":
        return CatalogHandlers.updateTable(catalog, table, read(body, UpdateTableRequest.class));
      case "DELETE namespaces tables 4": CatalogHandlers.dropTable(catalog, table); return null;
      case "GET namespaces views 4": case "HEAD namespaces views 4": throw new NoSuchViewException("%s", table);
      case "POST namespaces tables 5": return null; // a report of metrics
      case "POST transactions 2": commit(read(body, CommitTransactionRequest.class)); return null;
    }
    throw new UnsupportedOperationException(asks);
  }

  /** All changes, or none: the lock is held, so nothing comes between the checks and the commits. */
  private void commit(CommitTransactionRequest asked) {
    if (failing.getAndUpdate(n -> Math.max(0, n - 1)) > 0) throw new IllegalStateException(ASKED);
    Map<TableOperations, TableMetadata> found = new LinkedHashMap<>();
    for (UpdateTableRequest each : asked.tableChanges()) {
      TableOperations table = ((BaseTable) catalog.loadTable(each.identifier())).operations();
      TableMetadata base = table.current();
      for (UpdateRequirement requirement : each.requirements()) requirement.validate(base);
      TableMetadata.Builder builder = TableMetadata.buildFrom(base);
      for (MetadataUpdate update : each.updates()) update.applyTo(builder);
      found.put(table, builder.build());
    }
    found.forEach((table, metadata) -> table.commit(table.current(), metadata));
    together.incrementAndGet();
    if (losing.getAndUpdate(n -> Math.max(0, n - 1)) > 0) throw new CommitStateUnknownException(new RuntimeException(ASKED));
  }

  private static Namespace parent(String query) {
    for (String each : query.split("&"))
      if (each.startsWith("parent=") && each.length() > 7) return Namespace.of(each.substring(7).split("\u001f"));
    return Namespace.empty();
  }

  private <T> T read(String body, Class<T> as) throws IOException {
    return json.readValue(body, as);
  }

  private static int code(Exception error) {
    if (error instanceof NoSuchTableException || error instanceof NoSuchNamespaceException
        || error instanceof NoSuchViewException) return 404;
    if (error instanceof AlreadyExistsException || error instanceof CommitFailedException
        || error instanceof NamespaceNotEmptyException) return 409;
    if (error instanceof UnsupportedOperationException) return 406;
    if (error instanceof BadRequestException || error instanceof IllegalArgumentException) return 400;
    return 500;
  }
}
