package causeway.hudi;

import java.io.IOException;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordReader;

/**
 * Reads the rows of a base file that commits after an instant changed. Other rows of the file are skipped:
 * a base file has all rows of its file group.
 */
final class ChangedRows implements RecordReader<NullWritable, ArrayWritable> {
    static final String COMMIT_TIME = "_hoodie_commit_time";

    private final RecordReader<NullWritable, ArrayWritable> rows;
    private final int column;
    private final String start;

    /** {@code column} is the index of the commit time in a row, {@code start} the instant. */
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
