package causeway.hudi;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.io.CombineHiveInputFormat;
import org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat;
import org.apache.hadoop.hive.serde2.ColumnProjectionUtils;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.security.TokenCache;

/**
 * Hive's parquet input format for Hudi tables. A job reads three kinds of paths. Of Hudi tables in
 * incremental mode it lists the files that the commits of the range wrote, and reads only the changed rows.
 * Of other Hudi tables it lists the newest version of each file. Other paths are listed as by Hive.
 *
 * <p>A table that cannot be read with certainty is refused (HudiReadException). docs/guide/hudi.md has the
 * settings. pipeline/hudi/listing.py lists the same files.
 */
public final class HudiParquetInputFormat extends MapredParquetInputFormat
        implements CombineHiveInputFormat.AvoidSplitCombination {
    private static final String COLUMNS = "columns";

    @Override
    public FileStatus[] listStatus(JobConf job) throws IOException {
        InputPaths inputs = InputPaths.of(getInputPaths(job), job);
        if (inputs.tables.isEmpty()) {
            return super.listStatus(job);
        }
        List<FileStatus> files = new ArrayList<>();
        for (Map.Entry<HudiTable, List<Path>> each : inputs.tables.entrySet()) {
            HudiTable table = each.getKey();
            List<Path> paths = each.getValue();
            TokenCache.obtainTokensForNamenodes(job.getCredentials(), paths.toArray(new Path[0]), job);
            ReadSettings settings = ReadSettings.of(job, table);
            files.addAll(settings.isIncremental
                    ? IncrementalFiles.list(table, paths, settings)
                    : SnapshotFiles.list(table, paths, settings));
        }
        if (!inputs.others.isEmpty()) {
            JobConf others = new JobConf(job);
            setInputPaths(others, inputs.others.toArray(new Path[0]));
            files.addAll(Arrays.asList(super.listStatus(others)));
        }
        return files.toArray(new FileStatus[0]);
    }

    /** Hive's combining input format would list the folders itself, with all versions of the files. */
    @Override
    public boolean shouldSkipCombine(Path path, Configuration conf) {
        return true;
    }

    @Override
    public RecordReader<NullWritable, ArrayWritable> getRecordReader(
            InputSplit split, JobConf job, Reporter reporter) throws IOException {
        Path file = ((FileSplit) split).getPath();
        HudiTable table = ReadSettings.hasIncremental(job) ? InputPaths.tableOf(file, job) : null;
        ReadSettings settings = table == null ? null : ReadSettings.of(job, table);
        if (settings == null || !settings.isIncremental) {
            return super.getRecordReader(split, job, reporter);
        }
        int column = commitTime(job, table);
        JobConf jobWithTime = new JobConf(job);
        if (!ColumnProjectionUtils.isReadAllColumns(job)) {
            ColumnProjectionUtils.appendReadColumns(jobWithTime, Collections.singletonList(column));
        }
        RecordReader<NullWritable, ArrayWritable> rows = super.getRecordReader(split, jobWithTime, reporter);
        Object row = ((RecordReader<?, ?>) rows).createValue();
        if (!(row instanceof ArrayWritable)) { // Hive casts its reader of batches
            rows.close();
            throw new HudiReadException(HudiReadException.UNSUPPORTED, "Changed rows of " + table.base
                    + " are not read in batches. Set hive.vectorized.execution.enabled=false.");
        }
        return new ChangedRows(rows, column, settings.start);
    }

    /** Returns the index of the commit time among the job's columns. */
    private static int commitTime(JobConf job, HudiTable table) throws HudiReadException {
        String[] columns = job.get(COLUMNS, "").split(",");
        for (int i = 0; i < columns.length; i++) {
            if (columns[i].equalsIgnoreCase(ChangedRows.COMMIT_TIME)) {
                return i;
            }
        }
        throw new HudiReadException(HudiReadException.UNSUPPORTED, "The columns of the table at "
                + table.base + " lack " + ChangedRows.COMMIT_TIME + ". Declare it first, as a STRING.");
    }
}
