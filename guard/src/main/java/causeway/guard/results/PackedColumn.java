package causeway.guard.results;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.apache.hive.service.rpc.thrift.TColumn;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TField;
import org.apache.thrift.protocol.TList;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TStruct;
import org.apache.thrift.protocol.TType;

/** A column of a reply with values in Thrift's binary protocol already. No other protocol can send it. */
final class PackedColumn extends TColumn {
    private static final long serialVersionUID = 1;
    private static final TStruct NO_NAME = new TStruct("");

    private final ColumnType type;
    private final int rows;
    private final transient List<ByteBuffer> values = new ArrayList<>();
    private final BitSet nulls = new BitSet();

    PackedColumn(ColumnType type, int rows) {
        this.type = type;
        this.rows = rows;
    }

    /** Adds values of the next rows, in Thrift's binary protocol. */
    void add(ByteBuffer encoded) {
        values.add(encoded);
    }

    void setNull(int row) {
        nulls.set(row);
    }

    @Override
    public void write(TProtocol out) throws TException {
        out.writeStructBegin(NO_NAME);
        out.writeFieldBegin(new TField("", TType.STRUCT, type.field));
        out.writeStructBegin(NO_NAME);
        out.writeFieldBegin(new TField("values", TType.LIST, (short) 1));
        out.writeListBegin(new TList(type.element, rows));
        for (ByteBuffer each : values) {
            out.getTransport().write(each.array(), each.position(), each.remaining());
        }
        out.writeListEnd();
        out.writeFieldEnd();
        out.writeFieldBegin(new TField("nulls", TType.STRING, (short) 2));
        out.writeBinary(ByteBuffer.wrap(nulls.toByteArray()));
        out.writeFieldEnd();
        out.writeFieldStop();
        out.writeStructEnd();
        out.writeFieldEnd();
        out.writeFieldStop();
        out.writeStructEnd();
    }
}
