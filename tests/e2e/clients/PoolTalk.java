import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * {@code PoolTalk URL} does what the lines of its input say and prints a line for each: {@code pool}
 * asks through a HikariCP pool of two connections, which tests them by {@code Connection.isValid};
 * {@code own} asks over one connection outside of the pool; {@code end} closes the pool.
 */
public final class PoolTalk {
  private PoolTalk() {}

  public static void main(String[] words) throws Exception {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(words[0]);
    config.setDriverClassName("org.apache.hive.jdbc.HiveDriver");
    config.setUsername("ann");
    config.setPassword("secret");
    config.setMaximumPoolSize(2);
    config.setConnectionTimeout(20000);
    HikariDataSource pool = new HikariDataSource(config);
    Connection own = DriverManager.getConnection(words[0], "ann", "secret");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(done(line, pool, own).replace('\n', ' '));
      System.out.flush();
    }
    System.exit(0); // the driver keeps threads
  }

  private static String done(String line, HikariDataSource pool, Connection own) {
    try {
      if (line.equals("end")) {
        pool.close();
        return "closed";
      }
      if (line.equals("own")) {
        return asked(own);
      }
      try (Connection connection = pool.getConnection()) {
        return asked(connection);
      }
    } catch (SQLException error) {
      return error.getSQLState() + " " + error.getMessage();
    }
  }

  private static String asked(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT 40 + 2")) {
      rows.next();
      return rows.getString(1);
    }
  }
}
