package causeway.hudi;

import causeway.hudi.CommitMetadata.Written;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * Lists the files with the changed rows of a table: of each file group the newest base file that the
 * commits of the range wrote. It lists only the partitions that these commits name, and of them only those
 * at or below the paths of the job.
 *
 * <p>Ranges are of request times, as in Hudi's input format. Commits that were requested after a running
 * one are left out, so a reader that continues after the newest commit of its rows misses none.
 */
final class IncrementalFiles {
    /** The last file that the range wrote into a file group, and its commit. */
    private static final class LastWrite {
        final Instant commit;
        final String name;

        LastWrite(Instant commit, String name) {
            this.commit = commit;
            this.name = name;
        }
    }

    private final HudiTable table;
    private final List<Instant> range;
    private final List<Instant> replacing;

    private IncrementalFiles(HudiTable table, List<Instant> range, List<Instant> replacing) {
        this.table = table;
        this.range = range;
        this.replacing = replacing;
    }

    /** Returns the files. Throws HudiReadException if they are not certain, IOException. */
    static List<FileStatus> list(HudiTable table, List<Path> paths, ReadSettings settings)
            throws IOException {
        checkStart(table, settings.start);
        List<Instant> visible = table.timeline().visible(settings);
        List<Instant> range = new ArrayList<>();
        for (Instant each : visible) {
            boolean isInside = each.requested.compareTo(settings.start) > 0
                    && (settings.end == null || each.requested.compareTo(settings.end) <= 0);
            if (isInside && range.size() < settings.maxCommits) {
                range.add(each);
            }
        }
        List<Instant> replacing = new ArrayList<>();
        String last = range.isEmpty() ? "" : range.get(range.size() - 1).requested;
        for (Instant each : visible) {
            if (each.action.equals(Timeline.REPLACE) && each.end().compareTo(settings.start) > 0
                    && each.requested.compareTo(last) <= 0) {
                replacing.add(each);
            }
        }
        return new IncrementalFiles(table, range, replacing).list(paths);
    }

    /** Refuses a range of which the archive may have commits, and tables without commit times. */
    private static void checkStart(HudiTable table, String start) throws IOException {
        String first = table.timeline().start();
        if ((first.isEmpty() || start.compareTo(first) < 0) && table.hasArchive()) {
            throw new HudiReadException(HudiReadException.RANGE, table.base + " may have archived commits"
                    + " after " + start + ". Read the whole table, and continue from its newest commit.");
        }
        if (!table.hasCommitTimes()) {
            throw new HudiReadException(HudiReadException.UNSUPPORTED, table.base
                    + " has no meta columns, so its rows do not tell their commits. Read the whole table.");
        }
    }

    private List<FileStatus> list(List<Path> paths) throws IOException {
        Set<String> folders = new HashSet<>();
        paths.forEach(each -> folders.add(table.relative(each)));
        Map<String, Map<String, LastWrite>> lastWrites = new TreeMap<>();
        for (Instant commit : range) {
            for (Map.Entry<String, List<Written>> each : table.commit(commit).written.entrySet()) {
                if (isBelowAny(each.getKey(), folders)) {
                    Map<String, LastWrite> groups =
                            lastWrites.computeIfAbsent(each.getKey(), partition -> new HashMap<>());
                    for (Written file : each.getValue()) {
                        checkFile(each.getKey(), file);
                        groups.put(file.group, new LastWrite(commit, file.name));
                    }
                }
            }
        }
        List<FileStatus> files = new ArrayList<>();
        for (Map.Entry<String, Map<String, LastWrite>> each : lastWrites.entrySet()) {
            addFiles(files, each.getKey(), each.getValue());
        }
        return files;
    }

    /** Whether a partition is one of the folders or lies below one. */
    private static boolean isBelowAny(String partition, Set<String> folders) {
        for (String each = partition; !each.isEmpty(); each = parent(each)) {
            if (folders.contains(each)) {
                return true;
            }
        }
        return folders.contains("");
    }

    private static String parent(String partition) {
        return partition.substring(0, Math.max(partition.lastIndexOf('/'), 0));
    }

    private void checkFile(String partition, Written file) throws HudiReadException {
        DataFile parsed = DataFile.parse(file.name);
        if (parsed == null || !parsed.isParquet) {
            throw new HudiReadException(HudiReadException.UNSUPPORTED, "The range changes rows by "
                    + table.path(partition) + "/" + file.name + ", which is no base file in parquet."
                    + " Read it by Hudi, or begin after the compaction of its log.");
        }
    }

    private void addFiles(List<FileStatus> files, String partition, Map<String, LastWrite> groups)
            throws IOException {
        Map<String, LastWrite> names = new HashMap<>();
        for (Map.Entry<String, LastWrite> each : groups.entrySet()) {
            if (!isReplaced(partition, each.getKey(), each.getValue().commit)) {
                names.put(each.getValue().name, each.getValue());
            }
        }
        List<? extends FileStatus> listed = table.list(table.path(partition));
        if (listed.isEmpty()) {
            return; // the partition does not exist any more: Hudi reads no rows then
        }
        for (FileStatus each : listed) {
            if (names.remove(each.getPath().getName()) != null) {
                files.add(each);
            }
        }
        if (!names.isEmpty()) {
            throw new HudiReadException(HudiReadException.RANGE, table.path(partition) + "/"
                    + names.keySet().iterator().next() + " of the range was deleted, as by Hudi's cleaner."
                    + " Choose a later end of the range, more commits, or a later start.");
        }
    }

    /** Whether one of the replacing commits replaced the group after {@code commit} had written it. */
    private boolean isReplaced(String partition, String group, Instant commit) throws IOException {
        for (Instant each : replacing) {
            if (table.commit(each).replaces(partition, group)) {
                if (each.requested.compareTo(commit.end()) > 0) {
                    return true;
                }
                throw new HudiReadException(HudiReadException.UNSUPPORTED, "The commits "
                        + commit.requested + " and " + each.requested + " changed the same file group of "
                        + table.path(partition) + " at the same time. Read this range by Hudi.");
            }
        }
        return false;
    }
}
