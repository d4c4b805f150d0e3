package causeway.hudi;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The facts in the name of a data file. Base files are {@code <group>_<write token>_<instant>.parquet}, logs
 * are {@code .<group>_<instant>.log.<version>_<write token>}. Logs of changed data ({@code .cdc}) have no
 * rows of the table, so they are no data files.
 */
final class DataFile {
    private static final Pattern BASE = Pattern.compile(
            "([^._][^_]*)_([^_]*)_(\\d+)(?:_hudiext)?\\.(parquet|orc|hfile|lance)");
    private static final Pattern LOG = Pattern.compile("\\.(.+?)_(\\d+)\\.log\\.\\d+(?:_[\\d-]+)?");

    final String group;

    /** The request time of the commit that wrote the file; of a log in layout 1 that of its base file. */
    final String instant;

    final boolean isLog;
    final boolean isParquet;

    private DataFile(String group, String instant, boolean isLog, boolean isParquet) {
        this.group = group;
        this.instant = instant;
        this.isLog = isLog;
        this.isParquet = isParquet;
    }

    /** Returns the facts of a name; null if it is not that of a data file. */
    static DataFile parse(String name) {
        Matcher base = BASE.matcher(name);
        if (base.matches()) {
            return new DataFile(base.group(1), base.group(3), false, base.group(4).equals("parquet"));
        }
        Matcher log = LOG.matcher(name);
        return log.matches() ? new DataFile(log.group(1), log.group(2), true, false) : null;
    }
}
