package causeway.guard.results;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Packs one column of a block, as the bytes of a list's elements in Thrift's binary protocol.
 *
 * <p>A null sets a bit, and has the value that Spark's Thrift Server sends for null.
 */
final class ColumnPacker {
    private static final byte[] EMPTY = {};

    private final ColumnType type;
    private final DataType declared;
    private final int column;
    private ByteBuffer values = ByteBuffer.allocate(512); // big-endian, as in Thrift
    private long[] nulls = {};

    ColumnPacker(ColumnType type, DataType declared, int column) {
        this.type = type;
        this.declared = declared;
        this.column = column;
    }

    /** Adds the value of `row`, which is row `number` of its block. */
    void add(InternalRow row, int number) {
        if (row.isNullAt(column)) {
            addNull(number);
            return;
        }
        switch (type) {
            case BOOLEAN:
                reserve(1).put((byte) (row.getBoolean(column) ? 1 : 0));
                break;
            case BYTE:
                reserve(1).put(row.getByte(column));
                break;
            case SHORT:
                reserve(2).putShort(row.getShort(column));
                break;
            case INT:
            case DATE:
                reserve(4).putInt(row.getInt(column));
                break;
            case LONG:
            case TIMESTAMP:
                reserve(8).putLong(row.getLong(column));
                break;
            case FLOAT: // the double with the same digits, as the Thrift Server sends it
                addDouble(Double.parseDouble(Float.toString(row.getFloat(column))));
                break;
            case DOUBLE:
                addDouble(row.getDouble(column));
                break;
            case STRING:
                addString(row.getUTF8String(column));
                break;
            case DECIMAL:
                addDecimal(row, (DecimalType) declared);
                break;
            case BINARY:
                addBytes(row.getBinary(column));
                break;
            default:
                throw new IllegalStateException(type.name());
        }
    }

    /** Returns the number of bytes that the column has so far. */
    int size() {
        return values.position();
    }

    /** Writes the column and empties it for the next block. */
    void moveTo(DataOutputStream out) throws IOException {
        out.writeInt(nulls.length);
        for (long word : nulls) {
            out.writeLong(word);
        }
        out.writeInt(values.position());
        out.write(values.array(), 0, values.position());
        values.clear();
        nulls = new long[0];
    }

    private void addNull(int number) {
        int word = number >> 6;
        if (word >= nulls.length) {
            nulls = Arrays.copyOf(nulls, word + 1);
        }
        nulls[word] |= 1L << number;
        if (type == ColumnType.BOOLEAN) {
            reserve(1).put((byte) 1);
        } else if (type.width == 0) {
            addBytes(EMPTY);
        } else {
            reserve(type.width).put(new byte[type.width]);
        }
    }

    private void addDouble(double value) {
        reserve(8).putLong(Double.doubleToLongBits(value));
    }

    /** Adds a string. Java replaces invalid UTF-8, since the Thrift Server too makes strings of Java. */
    private void addString(UTF8String text) {
        int size = text.numBytes();
        int begin = reserve(4 + size).putInt(size).position();
        text.writeToMemory(values.array(), Platform.BYTE_ARRAY_OFFSET + begin);
        if (isAscii(values.array(), begin, begin + size)) {
            values.position(begin + size);
        } else {
            values.position(begin - 4);
            addBytes(text.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    private void addDecimal(InternalRow row, DecimalType decimal) {
        String text = row.getDecimal(column, decimal.precision(), decimal.scale())
                .toJavaBigDecimal().toPlainString();
        addBytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    private void addBytes(byte[] value) {
        reserve(4 + value.length).putInt(value.length).put(value);
    }

    /** Returns the buffer, with room for so many more bytes. */
    private ByteBuffer reserve(int bytes) {
        if (values.remaining() < bytes) {
            int size = Math.max(values.position() + bytes, 2 * values.capacity());
            values = ByteBuffer.allocate(size).put(values.array(), 0, values.position());
        }
        return values;
    }

    private static boolean isAscii(byte[] bytes, int from, int to) {
        int bits = 0;
        for (int at = from; at < to; at++) {
            bits |= bytes[at];
        }
        return bits >= 0;
    }
}
