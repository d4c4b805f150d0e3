package causeway.guard.results;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.execution.HiveResult;
import org.apache.spark.sql.execution.HiveResult$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Tuple2;

/**
 * Formats dates and timestamps as the Thrift Server does: at the fetch, by the session's settings of that
 * time, but from objects of the classes that the session had when the statement ran.
 */
final class TimeTexts {
    private static final int MAX_BYTES = 64; // bytes of a value

    private final boolean java8Times;

    TimeTexts(boolean java8Times) {
        this.java8Times = java8Times;
    }

    /** Returns the texts of packed values in Thrift's binary protocol. `first` is the first value's row. */
    ByteBuffer encode(ColumnType type, ByteBuffer packed, BitSet nulls, int first) {
        HiveResult.TimeFormatters formatters = HiveResult$.MODULE$.getTimeFormatters();
        ByteBuffer texts = ByteBuffer.allocate(MAX_BYTES * (packed.remaining() / type.width));
        for (int row = first; packed.hasRemaining(); row++) {
            Tuple2<Object, DataType> value = type == ColumnType.DATE
                    ? new Tuple2<>(date(packed.getInt()), DataTypes.DateType)
                    : new Tuple2<>(timestamp(packed.getLong()), DataTypes.TimestampType);
            String text = nulls.get(row)
                    ? "" : HiveResult$.MODULE$.toHiveString(value, false, formatters);
            byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
            texts.putInt(encoded.length).put(encoded);
        }
        texts.flip();
        return texts;
    }

    private Object date(int days) {
        return java8Times ? DateTimeUtils.daysToLocalDate(days) : DateTimeUtils.toJavaDate(days);
    }

    private Object timestamp(long micros) {
        return java8Times
                ? DateTimeUtils.microsToInstant(micros) : DateTimeUtils.toJavaTimestamp(micros);
    }
}
