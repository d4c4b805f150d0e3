package causeway.guard.results;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.BitSet;
import org.apache.spark.SparkEnv;
import org.apache.spark.io.CompressionCodec$;

/** Unpacks a block of rows that {@link RowPacker} packed, and gives access to its columns. */
final class PackedBlock {
    private static final int COUNT = 4; // bytes of the number of rows, which is not compressed

    private final ColumnType[] types;
    private final byte[][] values;
    private final BitSet[] nulls;

    PackedBlock(byte[] packed, ColumnType[] types) {
        this.types = types;
        values = new byte[types.length][];
        nulls = new BitSet[types.length];
        InputStream columns = new ByteArrayInputStream(packed, COUNT, packed.length - COUNT);
        try (DataInputStream in = new DataInputStream(CompressionCodec$.MODULE$
                .createCodec(SparkEnv.get().conf()).compressedInputStream(columns))) {
            for (int column = 0; column < types.length; column++) {
                long[] words = new long[in.readInt()];
                for (int word = 0; word < words.length; word++) {
                    words[word] = in.readLong();
                }
                nulls[column] = BitSet.valueOf(words);
                values[column] = new byte[in.readInt()];
                in.readFully(values[column]);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the number of rows of a packed block. */
    static int rows(byte[] packed) {
        return ByteBuffer.wrap(packed).getInt();
    }

    byte[] values(int column) {
        return values[column];
    }

    BitSet nulls(int column) {
        return nulls[column];
    }

    /** Returns the offset of a row in the column's values; for the number of rows, the values' end. */
    int offset(int column, int row) {
        if (types[column].width > 0) {
            return row * types[column].width;
        }
        ByteBuffer lengths = ByteBuffer.wrap(values[column]);
        int offset = 0;
        for (int earlier = 0; earlier < row; earlier++) {
            offset += 4 + lengths.getInt(offset);
        }
        return offset;
    }
}
