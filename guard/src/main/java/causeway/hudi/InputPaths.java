package causeway.hudi;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The paths of a job: those of each Hudi table, and others. Each table is opened once. */
final class InputPaths {
    private static final Pattern GLOB = Pattern.compile("[*?\\[{]");

    final Map<HudiTable, List<Path>> tables = new LinkedHashMap<>();
    final List<Path> others = new ArrayList<>();

    private final Map<Path, HudiTable> known = new HashMap<>();

    /** Folders that are no table and lie below none. */
    private final Set<Path> outside = new HashSet<>();

    private final Configuration conf;

    private InputPaths(Configuration conf) {
        this.conf = conf;
    }

    /**
     * Returns the job's paths. Throws HudiReadException for a table that is not supported and for a pattern
     * or file in a table, IOException.
     */
    static InputPaths of(Path[] paths, Configuration conf) throws IOException {
        InputPaths inputs = new InputPaths(conf);
        for (Path path : paths) {
            FileSystem files = path.getFileSystem(conf);
            Path full = files.makeQualified(path);
            HudiTable table = inputs.table(full);
            if (table == null) {
                inputs.others.add(path);
                continue;
            }
            boolean isFolder = DataFile.parse(full.getName()) == null;
            boolean isPattern = GLOB.matcher(full.toUri().getPath()).find();
            if (!isFolder || isPattern && !files.exists(full)) {
                throw new HudiReadException(HudiReadException.RANGE, full
                        + " is in the Hudi table " + table.base + ". Give folders of it, without patterns.");
            }
            inputs.tables.computeIfAbsent(table, each -> new ArrayList<>()).add(full);
        }
        return inputs;
    }

    /** Returns the table in which the path lies; null if it lies in none. */
    static HudiTable tableOf(Path path, Configuration conf) throws IOException {
        return new InputPaths(conf).table(path.getFileSystem(conf).makeQualified(path));
    }

    private HudiTable table(Path path) throws IOException {
        for (Path each = path; each != null; each = each.getParent()) {
            HudiTable table = known.get(each);
            if (table != null) {
                return table;
            }
        }
        List<Path> passed = new ArrayList<>();
        for (Path each = path; each != null && !outside.contains(each); each = each.getParent()) {
            HudiTable table = HudiTable.open(each, conf);
            if (table != null) {
                known.put(each, table);
                return table;
            }
            passed.add(each);
        }
        outside.addAll(passed);
        return null;
    }
}
