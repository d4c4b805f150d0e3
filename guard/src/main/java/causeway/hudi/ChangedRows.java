package causeway.hudi;

import java.io.IOException;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordReader;

/**
 * The rows of a base file that commits after an instant changed. A file has all rows of its group, and
 * commits after its own are in other files.
 */
final class ChangedRows implements RecordReader<NullWritable, ArrayWritable> {
    static final String COMMIT_TIME = "_hoodie_commit_time";

    private final RecordReader<NullWritable, ArrayWritable> rows;
    private final int column;
    private final String start;

    /** {@code column} is the place of the commit's time in a row. */
    ChangedRows(RecordReader<NullWritable, ArrayWritable> rows, int column, String start) {
        this.rows = rows;
        this.column = column;
        this.start = start;
    }

    @Override
    public boolean next(NullWritable key, ArrayWritable row) throws IOException {
        while (rows.next(key, row)) {
            Writable[] values = row.get();
            if (values.length <= column || values[column] == null) {
                throw new HudiReadException(HudiReadException.UNSUPPORTED, "A row has no " + COMMIT_TIME + ".");
            }
            if (values[column].toString().compareTo(start) > 0) {
                return true;
            }
        }
        return false;
    }

    @Override
    public NullWritable createKey() {
        return rows.createKey();
    }

    @Override
    public ArrayWritable createValue() {
        return rows.createValue();
    }

    @Override
    public long getPos() throws IOException {
        return rows.getPos();
    }

    @Override
    public float getProgress() throws IOException {
        return rows.getProgress();
    }

    @Override
    public void close() throws IOException {
        rows.close();
    }
}
