package causeway.guard.results;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Packs the rows of a partition into blocks of columns, in a task.
 *
 * <p>A block is the number of its rows in four bytes and then, compressed, for each column: the number of
 * words of its null bits, these words, the number of bytes of its values, the values. {@link PackedBlock}
 * reads it.
 */
final class RowPacker implements FlatMapFunction<Iterator<InternalRow>, byte[]> {
    private static final long serialVersionUID = 1;
    private static final int MAX_ROWS = 4096;
    private static final int MAX_BYTES = 4 << 20;

    private final ColumnType[] types;
    private final StructType schema;
    private final String memoryId;

    /** `memoryId` is the id of the result's {@link ResultMemory}. */
    RowPacker(ColumnType[] types, StructType schema, String memoryId) {
        this.types = types;
        this.schema = schema;
        this.memoryId = memoryId;
    }

    @Override
    public Iterator<byte[]> call(Iterator<InternalRow> rows) {
        ColumnPacker[] columns = new ColumnPacker[types.length];
        for (int column = 0; column < types.length; column++) {
            columns[column] = new ColumnPacker(
                    types[column], schema.fields()[column].dataType(), column);
        }
        ResultMemory memory = ResultMemory.of(memoryId);
        return new Iterator<byte[]>() {
            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public byte[] next() {
                byte[] block = block(rows, columns);
                if (memory != null) {
                    memory.pack(block.length);
                }
                return block;
            }
        };
    }

    private static byte[] block(Iterator<InternalRow> rows, ColumnPacker[] columns) {
        int count = 0;
        for (long bytes = 0; count < MAX_ROWS && bytes < MAX_BYTES && rows.hasNext(); count++) {
            InternalRow row = rows.next();
            bytes = 0;
            for (ColumnPacker column : columns) {
                column.add(row, count);
                bytes += column.size();
            }
        }
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try {
            new DataOutputStream(packed).writeInt(count);
            DataOutputStream out = new DataOutputStream(CompressionCodec$.MODULE$
                    .createCodec(SparkEnv.get().conf()).compressedOutputStream(packed));
            for (ColumnPacker column : columns) {
                column.moveTo(out);
            }
            out.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return packed.toByteArray();
    }
}
