import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;

/**
 * Asks the same things of several HiveServer2 endpoints through JDBC and prints what each said:
 * {@code JdbcProbe DATABASE NAME=URL ...}, for each a line {@code == NAME}, then a line a fact.
 * Those whose name ends with {@code brief} are not asked for writes, large results and waiting.
 */
public final class JdbcProbe {
  private static final String SLEEP =
      "SELECT java_method('java.lang.Thread', 'sleep', 60000L + id) FROM range(1)";
  private static final Pattern HANDLE =
      Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  // What names the endpoint itself, or gives an object of the driver's.
  private static final Set<String> NOT_ASKED =
      Set.of("getURL", "getConnection", "getClass", "hashCode", "toString", "notify", "notifyAll",
          "wait", "getFunctions", "getSchemas");

  private final String database;
  private final List<String> said = new ArrayList<>();

  private JdbcProbe(String database) {
    this.database = database;
  }

  public static void main(String[] words) throws Exception {
    String database = words[0];
    ExecutorService threads = Executors.newFixedThreadPool(2, task -> {
      Thread thread = new Thread(task);
      thread.setDaemon(true); // or a probe that fails would hold the program for ever
      return thread;
    });
    List<Future<List<String>>> answers = new ArrayList<>();
    for (String word : Arrays.copyOfRange(words, 1, words.length)) {
      int sign = word.indexOf('=');
      boolean all = !word.substring(0, sign).endsWith("brief");
      String url = word.substring(sign + 1);
      answers.add(threads.submit(() -> new JdbcProbe(database).probe(url, all)));
    }
    StringBuilder text = new StringBuilder();
    for (int at = 0; at < answers.size(); at++) {
      String word = words[at + 1];
      text.append("== ").append(word, 0, word.indexOf('=')).append('\n');
      for (String line : answers.get(at).get()) {
        text.append(line.replace("\\", "\\\\").replace("\n", "\\n")).append('\n');
      }
    }
    System.out.write(text.toString().getBytes(StandardCharsets.UTF_8));
    System.out.flush();
    System.exit(0); // the driver keeps threads
  }

  private List<String> probe(String url, boolean all) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url, "ann", "secret")) {
      connection(connection);
      metadata(connection.getMetaData());
      types(connection);
      prepared(connection);
      errors(connection);
      if (all) {
        writes(connection);
        sizes(connection);
        waiting(connection);
      }
    }
    return said;
  }

  private void connection(Connection connection) {
    say("schema", connection::getSchema);
    say("catalog", connection::getCatalog);
    say("valid", () -> connection.isValid(5));
    say("read only", connection::isReadOnly);
    say("auto commit", connection::getAutoCommit);
    say("isolation", connection::getTransactionIsolation);
    say("holdability", connection::getHoldability);
    say("warnings", connection::getWarnings);
    say("client info", connection::getClientInfo);
    say("set client info", () -> {
      connection.setClientInfo("ApplicationName", "probe");
      return connection.getClientInfo("ApplicationName");
    });
    say("type map", connection::getTypeMap);
    say("network timeout", connection::getNetworkTimeout);
    say("native", () -> connection.nativeSQL("SELECT 1"));
    say("hivevar", () -> rows(connection, "SELECT '${greeting}'"));
    say("set schema", () -> {
      connection.setSchema("default");
      String there = connection.getSchema() + rows(connection, "SELECT current_database()");
      connection.setSchema(database);
      return there + rows(connection, "SELECT current_database(), current_user()");
    });
  }

  private void metadata(DatabaseMetaData data) {
    Method[] methods = DatabaseMetaData.class.getMethods();
    Arrays.sort(methods, Comparator.comparing(Method::getName));
    for (Method method : methods) {
      if (method.getParameterCount() == 0 && !NOT_ASKED.contains(method.getName())) {
        say(method.getName(), () -> shown(invoked(method, data)));
      }
    }
    String[] none = null;
    say("getSchemas()", () -> schemas(data.getSchemas()));
    say("getSchemas(%)", () -> schemas(data.getSchemas(null, "%")));
    say("getSchemas(one)", () -> shown(data.getSchemas(null, database)));
    say("getSchemas(none)", () -> shown(data.getSchemas(null, "no_such")));
    for (String[] kinds : new String[][] {none, {"TABLE"}, {"VIEW"}, {"TABLE", "VIEW"}, {"X"}}) {
      say("getTables " + Arrays.toString(kinds),
          () -> shown(data.getTables(null, database, "%", kinds)));
    }
    for (String pattern : List.of("ty%", "_ypes", "TYPES", "no_such", "", "*")) {
      say("getTables " + pattern, () -> shown(data.getTables("", database, pattern, none)));
    }
    say("getColumns", () -> shown(data.getColumns(null, database, "%", "%")));
    say("getColumns null", () -> shown(data.getColumns(null, database, null, null)));
    say("getColumns one", () -> shown(data.getColumns(null, database, "types", "d%")));
    say("getColumns none", () -> shown(data.getColumns(null, database, "types", "no_such")));
    say("getFunctions", () -> shown(data.getFunctions(null, null, "a%")));
    say("getFunctions none", () -> shown(data.getFunctions(null, null, "no_such")));
    say("getPrimaryKeys", () -> shown(data.getPrimaryKeys(null, database, "types")));
    say("getImportedKeys", () -> shown(data.getImportedKeys(null, database, "types")));
    say("getExportedKeys", () -> shown(data.getExportedKeys(null, database, "types")));
    say("getCrossReference", () -> shown(
        data.getCrossReference(null, database, "types", null, database, "types")));
    say("getIndexInfo", () -> shown(data.getIndexInfo(null, database, "types", false, false)));
    say("getProcedures", () -> shown(data.getProcedures(null, database, "%")));
    say("getProcedureColumns",
        () -> shown(data.getProcedureColumns(null, database, "%", "%")));
    say("getBestRowIdentifier",
        () -> shown(data.getBestRowIdentifier(null, database, "types", 0, true)));
    say("getTablePrivileges", () -> shown(data.getTablePrivileges(null, database, "types")));
    say("getColumnPrivileges",
        () -> shown(data.getColumnPrivileges(null, database, "types", "%")));
    say("getUDTs", () -> shown(data.getUDTs(null, database, "%", null)));
    say("getVersionColumns", () -> shown(data.getVersionColumns(null, database, "types")));
    say("getSuperTypes", () -> shown(data.getSuperTypes(null, database, "%")));
    say("getSuperTables", () -> shown(data.getSuperTables(null, database, "%")));
    say("getAttributes", () -> shown(data.getAttributes(null, database, "%", "%")));
    say("getFunctionColumns", () -> shown(data.getFunctionColumns(null, database, "abs", "%")));
    say("getPseudoColumns", () -> shown(data.getPseudoColumns(null, database, "types", "%")));
    for (Method method : methods) {
      Class<?>[] types = method.getParameterTypes();
      boolean numbers = types.length > 0 && Arrays.stream(types).allMatch(int.class::equals);
      if (numbers && method.getReturnType() == boolean.class) {
        for (int type : new int[] {1, 4, 12, ResultSet.TYPE_FORWARD_ONLY,
            ResultSet.TYPE_SCROLL_INSENSITIVE}) {
          Object[] words = types.length == 1
              ? new Object[] {type} : new Object[] {type, ResultSet.CONCUR_READ_ONLY};
          say(method.getName() + Arrays.toString(words), () -> invoked(method, data, words));
        }
      }
    }
  }

  private void types(Connection connection) {
    say("types", () -> rows(connection, "SELECT * FROM types ORDER BY i"));
    say("more types", () -> rows(connection,
        "SELECT NULL n, INTERVAL '1' DAY d, INTERVAL '1' YEAR y, make_interval(1, 2, 3) c,"
            + " array(1, NULL), map('k', array(1)), named_struct('x', 1, 'y', 'é'), X'00FF' b,"
            + " CAST(1.5 AS DECIMAL(38, 18)), CAST('NaN' AS DOUBLE), CAST('-Infinity' AS FLOAT),"
            + " TIMESTAMP_NTZ '2024-02-29 01:02:03', DATE '0001-01-01',"
            + " TIMESTAMP '9999-12-31 23:59:59.999999', CAST('a' AS VARCHAR(5)), CHAR(65)"));
    say("unicode", () -> rows(connection, "SELECT 'żółć 漢字 😀 \\u0000 \\n\\t' AS `ключ`, ''"));
    say("nothing", () -> rows(connection, "SELECT * FROM types WHERE false"));
    say("no columns twice", () -> rows(connection, "SELECT 1 AS a, 2 AS a"));
    say("explain", () -> rows(connection, "EXPLAIN SELECT 1").length() > 100);
    say("show", () -> rows(connection, "SHOW TABLES"));
    say("describe", () -> rows(connection, "DESCRIBE types"));
    say("values", () -> rows(connection, "VALUES (1, 'a'), (2, NULL)"));
    say("set", () -> rows(connection, "SET spark.sql.ansi.enabled"));
  }

  private void prepared(Connection connection) {
    String sql = "SELECT ? + 1, ?, ?, ?, ?, ?, ?, '?', ?";
    say("prepared", () -> {
      try (PreparedStatement statement = connection.prepareStatement(sql)) {
        statement.setInt(1, 41);
        statement.setString(2, "it's \\ \"żółć\" ?");
        statement.setBigDecimal(3, new BigDecimal("12.50"));
        statement.setTimestamp(4, Timestamp.valueOf("2024-02-29 01:02:03.5"));
        statement.setDate(5, Date.valueOf("2024-02-29"));
        statement.setBoolean(6, true);
        statement.setNull(7, java.sql.Types.INTEGER);
        statement.setDouble(8, 1e-10);
        return shown(statement.executeQuery());
      }
    });
    say("prepared twice", () -> {
      StringBuilder both = new StringBuilder();
      try (PreparedStatement statement =
          connection.prepareStatement("SELECT i FROM types WHERE i = ?")) {
        for (long each : new long[] {1, 2, 99}) {
          statement.setLong(1, each);
          both.append(shown(statement.executeQuery()));
        }
      }
      return both;
    });
    say("unset", () -> {
      try (PreparedStatement statement = connection.prepareStatement("SELECT ?")) {
        return shown(statement.executeQuery());
      }
    });
    say("call", () -> connection.prepareCall("SELECT 1"));
  }

  private void sizes(Connection connection) {
    for (int size : new int[] {0, 1, 7, 1000, 100000}) {
      say("fetch size " + size, () -> {
        try (Statement statement = connection.createStatement()) {
          statement.setFetchSize(size);
          return digest(statement.executeQuery(
              "SELECT id, md5(CAST(id AS STRING)) FROM range(" + (size == 1 ? 20 : 500) + ")"));
        }
      });
    }
    say("max rows", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.setMaxRows(3);
        return shown(statement.executeQuery("SELECT id FROM range(10)"));
      }
    });
    say("huge cell", () -> {
      try (Statement statement = connection.createStatement()) {
        return digest(statement.executeQuery("SELECT repeat('é', 2000000), 1"));
      }
    });
    say("long statement", () -> {
      try (Statement statement = connection.createStatement()) {
        return digest(statement.executeQuery("SELECT '" + "x".repeat(500_000) + "'"));
      }
    });
    say("scroll", () -> {
      try (Statement statement = connection.createStatement(
          ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
        statement.setFetchSize(2);
        ResultSet rows = statement.executeQuery("SELECT id FROM range(5) ORDER BY id");
        StringBuilder seen = new StringBuilder();
        while (rows.next()) {
          seen.append(rows.getInt(1));
        }
        rows.beforeFirst();
        while (rows.next()) {
          seen.append(rows.getInt(1)).append(rows.getRow());
        }
        return seen;
      }
    });
    say("two at once", () -> {
      try (Statement one = connection.createStatement();
          Statement two = connection.createStatement()) {
        one.setFetchSize(2);
        ResultSet first = one.executeQuery("SELECT id FROM range(5) ORDER BY id");
        first.next();
        String second = shown(two.executeQuery("SELECT 7"));
        return second + shown(first);
      }
    });
  }

  private void writes(Connection connection) {
    // Elsewhere: what another thread lists here must not change.
    String table = "default.w_" + Thread.currentThread().getId() + "_" + System.nanoTime();
    say("create", () -> updated(connection, "CREATE TABLE " + table + " (a INT) USING parquet"));
    say("insert", () -> updated(connection, "INSERT INTO " + table + " VALUES (1), (2)"));
    say("execute", () -> executed(connection, "INSERT INTO " + table + " VALUES (3)"));
    say("read", () -> rows(connection, "SELECT a FROM " + table + " ORDER BY a"));
    say("execute select", () -> executed(connection, "SELECT 1"));
    say("executeQuery of a write",
        () -> rows(connection, "INSERT INTO " + table + " VALUES (4)"));
    say("batch", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.addBatch("SELECT 1");
        return Arrays.toString(statement.executeBatch());
      }
    });
    say("view", () -> updated(connection, "CREATE TEMPORARY VIEW tv AS SELECT 5 AS five"));
    say("of view", () -> rows(connection, "SELECT * FROM tv"));
    say("use", () -> executed(connection, "USE default") + rows(connection,
        "SELECT current_database()") + executed(connection, "USE " + database));
    say("drop", () -> updated(connection, "DROP TABLE " + table));
    say("commit", () -> {
      connection.commit();
      return "";
    });
    say("rollback", () -> {
      connection.rollback();
      return "";
    });
  }

  private void errors(Connection connection) {
    for (String sql : List.of("SELEC 1", "SELECT * FROM no_such", "SELECT no_such FROM types",
        "SELECT raise_error('it failed: é')", "SELECT assert_true(id > 5) FROM range(3)",
        "USE no_such", "INSERT INTO no_such VALUES (1)", "", "SELECT 1; SELECT 2",
        "SELECT CAST('x' AS INT) / 0", "SELECT * FROM parquet.`/no/such`")) {
      say("error of " + sql, () -> rows(connection, sql));
    }
    say("after errors", () -> rows(connection, "SELECT 1"));
    say("closed", () -> {
      Statement statement = connection.createStatement();
      ResultSet rows = statement.executeQuery("SELECT 1");
      statement.close();
      statement.close();
      return rows.next();
    });
  }

  private void waiting(Connection connection) {
    say("timeout", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.setQueryTimeout(1);
        return shown(statement.executeQuery(SLEEP));
      }
    });
    say("cancel", () -> {
      try (Statement statement = connection.createStatement()) {
        Thread canceller = new Thread(() -> {
          try {
            Thread.sleep(700);
            statement.cancel();
          } catch (SQLException | InterruptedException error) {
            said.add("cancel: " + error);
          }
        });
        canceller.start();
        try {
          return shown(statement.executeQuery(SLEEP));
        } finally {
          canceller.join();
        }
      }
    });
    say("logs", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT count(*) FROM range(100)");
        Method logs = statement.getClass().getMethod("getQueryLog");
        Method more = statement.getClass().getMethod("hasMoreLogs");
        return more.invoke(statement) + " " + logs.invoke(statement);
      }
    });
    say("after cancel", () -> rows(connection, "SELECT 1"));
  }

  private static String executed(Connection connection, String sql) throws Exception {
    try (Statement statement = connection.createStatement()) {
      boolean has = statement.execute(sql);
      int count = statement.getUpdateCount();
      String shown = has ? shown(statement.getResultSet()) : "";
      return has + " " + count + " " + shown + statement.getMoreResults();
    }
  }

  private static String updated(Connection connection, String sql) throws Exception {
    try (Statement statement = connection.createStatement()) {
      return "" + statement.executeUpdate(sql);
    }
  }

  private static String rows(Connection connection, String sql) throws Exception {
    try (Statement statement = connection.createStatement()) {
      return shown(statement.executeQuery(sql));
    }
  }

  /** The names alone, of those that no other test makes or drops meanwhile. */
  private String schemas(ResultSet rows) throws Exception {
    StringBuilder text = new StringBuilder();
    while (rows.next()) {
      String name = rows.getString(1);
      if (name.equals("default") || name.equals(database)) {
        text.append(name).append('|').append(rows.getString(2)).append(' ');
      }
    }
    return text.toString();
  }

  private static Object invoked(Method method, Object on, Object... words) throws Exception {
    try {
      return method.invoke(on, words);
    } catch (InvocationTargetException error) {
      if (error.getCause() instanceof Exception) {
        throw (Exception) error.getCause();
      }
      throw error;
    }
  }

  private static String shown(Object value) throws Exception {
    if (!(value instanceof ResultSet)) {
      return String.valueOf(value);
    }
    try (ResultSet rows = (ResultSet) value) {
      ResultSetMetaData data = rows.getMetaData();
      StringBuilder text = new StringBuilder(described(data));
      while (rows.next()) {
        text.append('\n');
        for (int column = 1; column <= data.getColumnCount(); column++) {
          text.append(cell(rows, column)).append('|');
        }
      }
      return text.toString();
    }
  }

  private static String cell(ResultSet rows, int column) {
    try {
      Object value = rows.getObject(column);
      boolean none = rows.wasNull();
      String name = value == null ? "" : value.getClass().getSimpleName() + ":";
      String text = value instanceof byte[] ? Arrays.toString((byte[]) value) : "" + value;
      return name + text + (none ? "(null)" : "") + "/" + rows.getString(column);
    } catch (Exception error) {
      return error.getClass().getSimpleName() + ":" + error.getMessage();
    }
  }

  private static String described(ResultSetMetaData data) throws Exception {
    Method[] methods = ResultSetMetaData.class.getMethods();
    Arrays.sort(methods, Comparator.comparing(Method::getName));
    StringBuilder text = new StringBuilder();
    for (int column = 1; column <= data.getColumnCount(); column++) {
      for (Method method : methods) {
        if (method.getParameterCount() == 1 && method.getParameterTypes()[0] == int.class) {
          try {
            text.append(invoked(method, data, column)).append(',');
          } catch (Exception error) {
            text.append(error.getClass().getSimpleName()).append(',');
          }
        }
      }
      text.append(';');
    }
    return text.toString();
  }

  private static String digest(ResultSet rows) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    int count = 0;
    while (rows.next()) {
      digest.update((rows.getString(1) + rows.getObject(1)).getBytes(StandardCharsets.UTF_8));
      count++;
    }
    return count + " " + new BigDecimal(new java.math.BigInteger(1, digest.digest()));
  }

  private void say(String what, Callable<?> asked) {
    String answer;
    try {
      answer = "" + asked.call();
    } catch (SQLException error) {
      answer = error.getClass().getSimpleName() + " " + error.getSQLState() + " "
          + error.getErrorCode() + " " + error.getMessage();
    } catch (Exception error) {
      answer = error.getClass().getSimpleName() + " " + error.getMessage();
    }
    said.add(what + ": " + HANDLE.matcher(answer).replaceAll("HANDLE"));
  }
}
