package causeway.guard.results;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.hive.service.cli.FetchOrientation;
import org.apache.hive.service.rpc.thrift.TRowSet;

/** A collected result with a cursor, which moves as that of Spark's ArrayFetchIterator. */
final class PackedResult implements AutoCloseable {
    private final ColumnType[] types;
    private final TimeTexts times;
    private final byte[][] blocks; // packed
    /** The index of each block's first row in the result. */
    private final long[] starts;
    private final long rows;
    private final ResultMemory memory;
    private long fetchStart;
    private long position;
    private int openNumber = -1;
    private PackedBlock open;

    /** Takes `memory` for the result until it is closed. */
    PackedResult(ColumnType[] types, TimeTexts times, List<byte[]> collected, ResultMemory memory) {
        this.types = types;
        this.times = times;
        blocks = collected.toArray(new byte[0][]);
        starts = new long[blocks.length];
        this.memory = memory;
        long count = 0;
        long bytes = 0;
        for (int number = 0; number < blocks.length; number++) {
            starts[number] = count;
            count += PackedBlock.rows(blocks[number]);
            bytes += blocks[number].length;
        }
        rows = count;
        memory.keep(bytes);
    }

    /** Gives the memory back. */
    @Override
    public void close() {
        memory.close();
    }

    /** Returns up to `most` rows. The settings of the active session format dates and timestamps. */
    synchronized TRowSet fetch(FetchOrientation order, long most) {
        if (order == FetchOrientation.FETCH_FIRST) {
            position = 0;
        } else if (order == FetchOrientation.FETCH_PRIOR) {
            position = Math.min(Math.max(fetchStart - most, 0), rows);
        }
        fetchStart = position;
        long end = Math.min(rows, position + Math.max((int) most, 0));
        TRowSet set = new TRowSet(position, new ArrayList<>());
        for (PackedColumn column : columns(position, end)) {
            set.addToColumns(column);
        }
        position = end;
        return set;
    }

    private PackedColumn[] columns(long from, long to) {
        PackedColumn[] columns = new PackedColumn[types.length];
        for (int column = 0; column < types.length; column++) {
            columns[column] = new PackedColumn(types[column], (int) (to - from));
        }
        for (int number = blockOf(from); number < blocks.length && starts[number] < to; number++) {
            PackedBlock block = open(number);
            int first = (int) Math.max(0, from - starts[number]);
            int last = (int) Math.min(PackedBlock.rows(blocks[number]), to - starts[number]);
            int before = (int) (starts[number] - from);
            for (int column = 0; column < types.length; column++) {
                BitSet nulls = block.nulls(column);
                for (int row = nulls.nextSetBit(first); row >= 0 && row < last;
                        row = nulls.nextSetBit(row + 1)) {
                    columns[column].setNull(before + row);
                }
                columns[column].add(values(block, column, first, last));
            }
        }
        return columns;
    }

    private ByteBuffer values(PackedBlock block, int column, int first, int last) {
        byte[] packed = block.values(column);
        int begin = block.offset(column, first);
        ByteBuffer values = ByteBuffer.wrap(packed, begin, block.offset(column, last) - begin);
        if (types[column] == ColumnType.DATE || types[column] == ColumnType.TIMESTAMP) {
            return times.encode(types[column], values, block.nulls(column), first);
        }
        return values;
    }

    /** Returns the index of the block that has the row. */
    private int blockOf(long row) {
        int index = Arrays.binarySearch(starts, row);
        return index >= 0 ? index : Math.max(0, -index - 2);
    }

    private PackedBlock open(int number) {
        if (openNumber != number) {
            open = new PackedBlock(blocks[number], types);
            openNumber = number;
        }
        return open;
    }
}
