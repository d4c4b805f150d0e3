import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Asks through HikariCP's pools of two connections, as an application's threads do: {@code PoolProbe
 * ASKERS TIMES TEST=URL ...}. TEST is the statement that the pool tests connections by, or empty for
 * the driver's own way. Prints for each the sum of all answers.
 */
public final class PoolProbe {
  private PoolProbe() {}

  public static void main(String[] words) throws Exception {
    int askers = Integer.parseInt(words[0]);
    int times = Integer.parseInt(words[1]);
    for (int at = 2; at < words.length; at++) {
      String[] parts = words[at].split("=", 2);
      try (HikariDataSource pool = new HikariDataSource(configured(parts[0], parts[1]))) {
        ExecutorService threads = Executors.newFixedThreadPool(askers);
        List<Future<Long>> answers = new ArrayList<>();
        for (int asker = 0; asker < askers; asker++) {
          int number = asker;
          answers.add(threads.submit(() -> asked(pool, number, times)));
        }
        long sum = 0;
        for (Future<Long> each : answers) {
          sum += each.get();
        }
        threads.shutdown();
        System.out.println(sum);
      }
    }
    System.exit(0); // the driver keeps threads
  }

  private static HikariConfig configured(String test, String url) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setDriverClassName("org.apache.hive.jdbc.HiveDriver");
    config.setUsername("ann");
    config.setPassword("secret");
    config.setMaximumPoolSize(2);
    config.setConnectionTimeout(60000);
    if (!test.isEmpty()) {
      config.setConnectionTestQuery(test);
    }
    return config;
  }

  /** Longer than half a second apart, a pool tests a connection before it lends it. */
  private static long asked(HikariDataSource pool, int number, int times) throws Exception {
    long sum = 0;
    for (int time = 0; time < times; time++) {
      Thread.sleep(600);
      try (Connection connection = pool.getConnection();
          PreparedStatement statement = connection.prepareStatement("SELECT ? * id FROM range(4)")) {
        statement.setInt(1, number);
        try (ResultSet rows = statement.executeQuery()) {
          while (rows.next()) {
            sum += rows.getLong(1);
          }
        }
      }
    }
    return sum;
  }
}
