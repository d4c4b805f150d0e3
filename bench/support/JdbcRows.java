import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Reads one query's rows through JDBC by several ways in turn: {@code JdbcRows ROUNDS WARM ROWS SQL
 * NAME=URL ...}. Each line is {@code NAME EXECUTED READ}, in nanoseconds since the statement was
 * begun; warm-up rounds are not printed.
 */
public final class JdbcRows {
  private JdbcRows() {}

  public static void main(String[] words) throws SQLException {
    int rounds = Integer.parseInt(words[0]);
    int warm = Integer.parseInt(words[1]);
    int expected = Integer.parseInt(words[2]);
    String sql = words[3];
    int ways = words.length - 4;
    String[] names = new String[ways];
    Connection[] connections = new Connection[ways];
    for (int way = 0; way < ways; way++) {
      String[] parts = words[way + 4].split("=", 2);
      names[way] = parts[0];
      connections[way] = DriverManager.getConnection(parts[1], "bench", "bench");
    }
    for (int round = 0; round < warm + rounds; round++) {
      for (int turn = 0; turn < ways; turn++) {
        int way = round % 2 == 0 ? turn : ways - 1 - turn;
        long[] took = timed(connections[way], sql, expected);
        if (round >= warm) {
          System.out.println(names[way] + " " + took[0] + " " + took[1]);
        }
      }
    }
    System.exit(0); // the driver keeps threads
  }

  private static long[] timed(Connection connection, String sql, int expected)
      throws SQLException {
    long began = System.nanoTime();
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      long executed = System.nanoTime() - began;
      int columns = rows.getMetaData().getColumnCount();
      long sum = 0;
      int count = 0;
      while (rows.next()) {
        for (int column = 1; column <= columns; column++) {
          sum += rows.getObject(column).hashCode();
        }
        count++;
      }
      long read = System.nanoTime() - began;
      if (count != expected || sum == 0) {
        throw new IllegalStateException(count + " rows are not " + expected);
      }
      return new long[] {executed, read};
    }
  }
}
