package causeway.hudi;

import java.util.Locale;
import org.apache.hadoop.conf.Configuration;

/** Hudi's settings in a job that select the commits and files to read of one table. */
final class ReadSettings {
    static final String HOLES = "hoodie.read.timeline.holes.resolution.policy";
    static final String READ_OPTIMIZED = "hoodie.query.as.ro.table";

    private static final String USE_DATABASE = "hoodie.incremental.use.database";
    private static final String MODES = "^hoodie\\..*\\.consume\\.mode$";
    private static final int ALL = -1;

    final boolean isIncremental;

    /** The range is after {@code start}, up to and including {@code end}. Each may be null. */
    final String start;

    final String end;
    final int maxCommits;
    final boolean stopsAtCompaction;
    final String asOf;
    final boolean withPending;
    final String holes;

    /** Whether a merge-on-read table may be read without its logs. */
    final boolean isReadOptimized;

    private ReadSettings(Configuration conf, HudiTable table, String name, boolean isIncremental)
            throws HudiReadException {
        String consume = "hoodie." + name + ".consume.";
        // Hudi names these three by the table alone, also if the other names have the database.
        String bare = "hoodie." + table.name() + ".";
        this.isIncremental = isIncremental;
        start = isIncremental ? instant(conf, consume + "start.timestamp") : null;
        end = isIncremental ? instant(conf, consume + "end.timestamp") : null;
        maxCommits = isIncremental ? commits(conf, consume + "max.commits") : ALL;
        stopsAtCompaction = conf.getBoolean(bare + "ro.stop.at.compaction", true);
        asOf = instant(conf, bare + "consume.commit");
        withPending = conf.getBoolean(bare + "consume.pending.commits", false);
        holes = conf.getTrimmed(HOLES, "FAIL").toUpperCase(Locale.ROOT);
        isReadOptimized = conf.getBoolean(READ_OPTIMIZED, false);
        if (isIncremental && start == null) {
            throw new HudiReadException(
                    HudiReadException.RANGE, consume + "start.timestamp is not set.");
        }
    }

    /** Returns the settings. Throws HudiReadException for one that is invalid or may mean another table. */
    static ReadSettings of(Configuration conf, HudiTable table) throws HudiReadException {
        String full = table.database() + "." + table.name();
        String name = conf.getBoolean(USE_DATABASE, false) ? full : table.name();
        return new ReadSettings(conf, table, name, isIncremental(conf, table, name, full));
    }

    /** Whether the job has a setting by which it reads the changed rows of some table. */
    static boolean hasIncremental(Configuration conf) {
        return conf.getValByRegex(MODES).values().stream().anyMatch(ReadSettings::isIncremental);
    }

    private static boolean isIncremental(String mode) {
        return mode.trim().equalsIgnoreCase("INCREMENTAL");
    }

    private static boolean isIncremental(
            Configuration conf, HudiTable table, String name, String full) throws HudiReadException {
        String own = conf.get(mode(name));
        if (own != null) {
            return isIncremental(own);
        }
        for (String key : conf.getValByRegex(MODES).keySet()) {
            boolean isSimilar = key.equalsIgnoreCase(mode(full)) || key.equalsIgnoreCase(mode(table.name()));
            if (isSimilar && isIncremental(conf.get(key))) {
                throw new HudiReadException(HudiReadException.RANGE, key + " may mean " + table.base
                        + ". Set " + mode(name) + " for it, to INCREMENTAL or to SNAPSHOT.");
            }
        }
        return false;
    }

    private static String mode(String name) {
        return "hoodie." + name + ".consume.mode";
    }

    private static String instant(Configuration conf, String key) throws HudiReadException {
        String value = conf.getTrimmed(key);
        if (value != null && !value.matches("[0-9]+")) {
            throw new HudiReadException(HudiReadException.RANGE, key + "=" + value + " is no instant.");
        }
        return value;
    }

    private static int commits(Configuration conf, String key) throws HudiReadException {
        String value = conf.getTrimmed(key, "1");
        if (!value.matches("-1|[0-9]{1,9}") || Integer.parseInt(value) == 0) {
            throw new HudiReadException(
                    HudiReadException.RANGE, key + "=" + value + " is no number of commits.");
        }
        int count = Integer.parseInt(value);
        return count == ALL ? Integer.MAX_VALUE : count;
    }
}
