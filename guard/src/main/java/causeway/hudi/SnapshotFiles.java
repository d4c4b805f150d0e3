package causeway.hudi;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** Lists the files with all rows of a table: the newest base file of each file group up to a commit. */
final class SnapshotFiles {
    private final HudiTable table;
    private final Timeline timeline;
    private final ReadSettings settings;
    private final Set<String> pending;
    private final String asOf;
    private final List<CommitMetadata> replacing = new ArrayList<>();

    private SnapshotFiles(HudiTable table, ReadSettings settings, String asOf) throws IOException {
        this.table = table;
        timeline = table.timeline();
        this.settings = settings;
        this.asOf = asOf;
        pending = settings.withPending ? timeline.pending() : new HashSet<>();
        for (Instant each : timeline.commits) {
            if (each.action.equals(Timeline.REPLACE) && each.requested.compareTo(asOf) <= 0) {
                replacing.add(table.commit(each));
            }
        }
    }

    /** Returns the files. Throws HudiReadException if they are not certain, IOException. */
    static List<FileStatus> list(HudiTable table, List<Path> paths, ReadSettings settings)
            throws IOException {
        Timeline timeline = table.timeline();
        Set<String> instants = settings.withPending ? timeline.pending() : new HashSet<>();
        timeline.commits.forEach(each -> instants.add(each.requested));
        List<FileStatus> files = new ArrayList<>();
        if (instants.isEmpty()) {
            return files;
        }
        String newest = instants.stream().max(String::compareTo).get();
        if (settings.asOf != null && !settings.withPending) {
            checkKept(table, settings.asOf, newest);
        }
        SnapshotFiles snapshot =
                new SnapshotFiles(table, settings, settings.asOf == null ? newest : settings.asOf);
        Set<String> seen = new HashSet<>();
        for (Path path : paths) {
            for (Map.Entry<String, List<FileStatus>> each
                    : table.partitions(table.relative(path)).entrySet()) {
                if (seen.add(each.getKey())) {
                    snapshot.addFiles(files, each.getKey(), each.getValue());
                }
            }
        }
        return files;
    }

    /** Refuses a read as of a commit whose files a clean may have deleted. */
    private static void checkKept(HudiTable table, String asOf, String newest) throws IOException {
        List<Instant> cleans = table.timeline().cleans;
        if (cleans.isEmpty() || asOf.compareTo(newest) >= 0) {
            return;
        }
        String kept = table.earliestRetained(cleans.get(cleans.size() - 1));
        if (kept.isEmpty() || asOf.compareTo(kept) < 0) {
            throw new HudiReadException(HudiReadException.RANGE, "Files of " + table.base + " as of " + asOf
                    + " were cleaned, or may have been. Choose a later commit"
                    + (kept.isEmpty() ? "." : ", from " + kept + " on."));
        }
    }

    private void addFiles(List<FileStatus> files, String partition, List<FileStatus> listed)
            throws HudiReadException {
        Map<String, FileStatus> newest = new HashMap<>();
        Map<String, DataFile> bases = new HashMap<>();
        List<DataFile> logs = new ArrayList<>();
        for (FileStatus status : listed) {
            DataFile file = DataFile.parse(status.getPath().getName());
            if (file == null || isReplaced(partition, file.group)) {
                continue;
            }
            if (file.isLog) {
                logs.add(file);
            } else if (counts(file.instant)) {
                DataFile known = bases.get(file.group);
                if (known == null || known.instant.compareTo(file.instant) < 0) {
                    bases.put(file.group, file);
                    newest.put(file.group, status);
                }
            }
        }
        for (DataFile file : bases.values()) {
            if (!file.isParquet) {
                throw new HudiReadException(HudiReadException.UNSUPPORTED, newest.get(file.group).getPath()
                        + " is no base file in parquet. Read the table by Hudi.");
            }
        }
        if (table.isMergeOnRead() && !settings.isReadOptimized) {
            checkLogs(partition, bases, logs);
        }
        files.addAll(newest.values());
    }

    /** Whether base files of that commit are read. */
    private boolean counts(String instant) {
        return instant.compareTo(asOf) <= 0
                && (timeline.isVisible(instant) || pending.contains(instant));
    }

    private boolean isReplaced(String partition, String group) {
        return replacing.stream().anyMatch(each -> each.replaces(partition, group));
    }

    /** Refuses a partition of which logs may have rows that the base files lack. */
    private void checkLogs(String partition, Map<String, DataFile> bases, List<DataFile> logs)
            throws HudiReadException {
        for (DataFile log : logs) {
            DataFile base = bases.get(log.group);
            if (base == null || isOnTop(log, base.instant)) {
                throw new HudiReadException(HudiReadException.UNSUPPORTED, table.path(partition)
                        + " has rows in logs, which only Hudi merges. Compact the table, read it by Hudi, or"
                        + " set " + ReadSettings.READ_OPTIMIZED + "=true to read it without its logs.");
            }
        }
    }

    /** Whether a log may have rows that its group's base file lacks. */
    private boolean isOnTop(DataFile log, String base) {
        if (!table.hasCompletions) {
            return log.instant.compareTo(base) >= 0;
        }
        Instant commit = timeline.commit(log.instant);
        // An archived commit may have completed after a base file with a later request time.
        return commit == null ? timeline.isVisible(log.instant) : commit.end().compareTo(base) > 0;
    }
}
