package causeway.guard.facts;

import causeway.guard.storage.ServerStorage;
import causeway.guard.views.ViewConnection;
import causeway.guard.views.ViewSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TField;
import org.apache.thrift.protocol.TList;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolUtil;
import org.apache.thrift.protocol.TStruct;
import org.apache.thrift.protocol.TType;
import org.apache.thrift.transport.TIOStreamTransport;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * The {@code causeway.} parameters of partitions.
 *
 * <p>A metastore view hides them from Spark, so the guard reads them by a call that names the cluster. It
 * reads them after Spark has read the locations. This suffices: the view sent locations whose data was
 * right at that time, and every statement reads its partitions' locations itself.
 */
public final class PartitionFacts {
    private static final String CALL = "get_partitions_by_names_on_cluster";
    private static final int BATCH = 500;
    private static final short DATABASE = 1;
    private static final short TABLE = 2;
    private static final short NAMES = 3;
    private static final short CLUSTER = 100;

    private final ViewSettings views;
    private final String cluster;

    public PartitionFacts(ServerStorage storage) {
        views = storage.views();
        cluster = storage.cluster();
    }

    /** Returns the partition's name in the metastore, as {@code ds=1/hour=2}. */
    public static String name(CatalogTable table, CatalogTablePartition partition) {
        StringBuilder name = new StringBuilder();
        for (Iterator<String> each = table.partitionColumnNames().iterator(); each.hasNext(); ) {
            String column = each.next();
            name.append(name.length() == 0 ? "" : "/").append(column).append('=')
                    .append(ExternalCatalogUtils.escapePathName(partition.spec().apply(column)));
        }
        return name.toString();
    }

    /** Returns the facts of each partition, by name. Throws FactsUnavailableException. */
    public Map<String, Map<String, String>> of(
            CatalogTable table, Seq<CatalogTablePartition> partitions) {
        Map<String, Map<String, String>> facts = new HashMap<>();
        Map<List<String>, String> names = new HashMap<>();
        for (Iterator<CatalogTablePartition> each = partitions.iterator(); each.hasNext(); ) {
            CatalogTablePartition partition = each.next();
            String name = name(table, partition);
            if (TableFacts.areHidden(table)) {
                names.put(values(table, partition), name);
            } else {
                facts.put(name, TableFacts.reserved(partition.parameters()));
            }
        }
        if (!names.isEmpty()) {
            try {
                read(table, names, facts);
            } catch (TException | IOException error) {
                throw new FactsUnavailableException(
                        "partitions of table " + table.identifier().unquotedString(), error);
            }
        }
        return facts;
    }

    /** Returns the partition's values in the order of the table's partition columns. */
    public static List<String> values(CatalogTable table, CatalogTablePartition partition) {
        List<String> values = new ArrayList<>();
        for (Iterator<String> each = table.partitionColumnNames().iterator(); each.hasNext(); ) {
            values.add(partition.spec().apply(each.next()));
        }
        return values;
    }

    private void read(
            CatalogTable table, Map<List<String>, String> names,
            Map<String, Map<String, String>> facts) throws TException, IOException {
        try (ViewConnection view = views.connect()) {
            TProtocol protocol =
                    new TBinaryProtocol(new TIOStreamTransport(view.in(), view.out()));
            List<String> all = new ArrayList<>(names.values());
            for (int start = 0; start < all.size(); start += BATCH) {
                send(protocol, table, all.subList(start, Math.min(start + BATCH, all.size())));
                for (Partition partition : receive(protocol)) {
                    facts.put(names.get(partition.getValues()), partition.getParameters());
                }
            }
        }
        for (String name : names.values()) {
            if (facts.get(name) == null) {
                throw new TException("partition " + name + " does not exist any more");
            }
        }
    }

    private void send(TProtocol out, CatalogTable table, List<String> names) throws TException {
        out.writeMessageBegin(new TMessage(CALL, TMessageType.CALL, 0));
        out.writeStructBegin(new TStruct());
        text(out, DATABASE, table.database());
        text(out, TABLE, table.identifier().table());
        out.writeFieldBegin(new TField("", TType.LIST, NAMES));
        out.writeListBegin(new TList(TType.STRING, names.size()));
        for (String name : names) {
            out.writeString(name);
        }
        text(out, CLUSTER, cluster);
        out.writeFieldStop();
        out.writeMessageEnd();
        out.getTransport().flush();
    }

    private static void text(TProtocol out, short field, String text) throws TException {
        out.writeFieldBegin(new TField("", TType.STRING, field));
        out.writeString(text);
    }

    private static List<Partition> receive(TProtocol in) throws TException {
        if (in.readMessageBegin().type == TMessageType.EXCEPTION) {
            throw TApplicationException.readFrom(in);
        }
        List<Partition> partitions = null;
        in.readStructBegin();
        for (TField field = in.readFieldBegin(); field.type != TType.STOP; field = in.readFieldBegin()) {
            if (field.id == 0 && field.type == TType.LIST) {
                partitions = partitions(in);
            } else {
                TProtocolUtil.skip(in, field.type);
            }
        }
        in.readMessageEnd();
        if (partitions == null) {
            throw new TException(CALL + " failed");
        }
        return partitions;
    }

    private static List<Partition> partitions(TProtocol in) throws TException {
        int count = in.readListBegin().size;
        List<Partition> partitions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Partition partition = new Partition();
            partition.read(in);
            partitions.add(partition);
        }
        return partitions;
    }
}
