package causeway.guard.results;

import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.thrift.protocol.TType;

/** The types that are packed, each with its field in TColumn and the Thrift type of its elements. */
enum ColumnType {
    BOOLEAN(1, TType.BOOL, 1),
    BYTE(2, TType.BYTE, 1),
    SHORT(3, TType.I16, 2),
    INT(4, TType.I32, 4),
    LONG(5, TType.I64, 8),
    FLOAT(6, TType.DOUBLE, 8),
    DOUBLE(6, TType.DOUBLE, 8),
    STRING(7, TType.STRING, 0),
    DECIMAL(7, TType.STRING, 0),
    /** Packed as days: its text depends on the session's settings at the fetch. */
    DATE(7, TType.STRING, 4),
    /** Packed as microseconds, for the same reason as DATE. */
    TIMESTAMP(7, TType.STRING, 8),
    BINARY(8, TType.STRING, 0);

    final short field;
    final byte element;
    /** The bytes of a packed value; 0 if each value begins with its length in four bytes. */
    final int width;

    ColumnType(int field, byte element, int width) {
        this.field = (short) field;
        this.element = element;
        this.width = width;
    }

    /** Returns the columns' types; null if a type cannot be packed, or there is no column. */
    static ColumnType[] of(StructType schema) {
        StructField[] fields = schema.fields();
        ColumnType[] types = new ColumnType[fields.length];
        for (int column = 0; column < fields.length; column++) {
            types[column] = of(fields[column].dataType());
            if (types[column] == null) {
                return null;
            }
        }
        return types.length == 0 ? null : types;
    }

    private static ColumnType of(DataType type) {
        if (type instanceof BooleanType) {
            return BOOLEAN;
        } else if (type instanceof ByteType) {
            return BYTE;
        } else if (type instanceof ShortType) {
            return SHORT;
        } else if (type instanceof IntegerType) {
            return INT;
        } else if (type instanceof LongType) {
            return LONG;
        } else if (type instanceof FloatType) {
            return FLOAT;
        } else if (type instanceof DoubleType) {
            return DOUBLE;
        } else if (type.equals(DataTypes.StringType)) {
            return STRING;
        } else if (type instanceof DecimalType) {
            return DECIMAL;
        } else if (type instanceof DateType) {
            return DATE;
        } else if (type instanceof TimestampType) {
            return TIMESTAMP;
        } else if (type instanceof BinaryType) {
            return BINARY;
        }
        return null;
    }
}
