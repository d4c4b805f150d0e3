package causeway.stack;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.SQLException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.TServerSocketKeepAlive;
import org.apache.hadoop.hive.metastore.TUGIBasedProcessor;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.hadoop.hive.metastore.txn.TxnStore;
import org.apache.hadoop.hive.metastore.txn.TxnUtils;
import org.apache.hadoop.hive.thrift.TUGIContainingTransport;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.server.ServerContext;
import org.apache.thrift.server.TServerEventHandler;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransport;

/**
 * Runs Hive's metastore on 127.0.0.1. Hive 2.3 has no setting for the address, and its own main class
 * listens on every address. Argument: the port.
 */
public final class LocalMetastore {
    private static final int TIMEOUT_CHECK_SECONDS = 60;
    /** Derby's state for a table that exists. */
    private static final String EXISTS = "X0Y32";

    private LocalMetastore() {}

    public static void main(String[] arguments) throws Exception {
        HiveConf conf = new HiveConf(HiveMetaStore.class);
        final IHMSHandler handler = HiveMetaStore.newRetryingHMSHandler(
            new HiveMetaStore.HMSHandler("local metastore", conf, false), conf);
        prepareLocks(conf);
        InetSocketAddress address = new InetSocketAddress(
            InetAddress.getByName("127.0.0.1"), Integer.parseInt(arguments[0]));
        TThreadPoolServer.Args args = new TThreadPoolServer.Args(
            new TServerSocketKeepAlive(new TServerSocket(address)));
        args.processor(new TUGIBasedProcessor(handler));
        args.transportFactory(new TUGIContainingTransport.Factory());
        args.minWorkerThreads(
            conf.getIntVar(HiveConf.ConfVars.METASTORESERVERMINTHREADS));
        args.maxWorkerThreads(
            conf.getIntVar(HiveConf.ConfVars.METASTORESERVERMAXTHREADS));
        TThreadPoolServer server = new TThreadPoolServer(args);
        server.setServerEventHandler(new TServerEventHandler() {
            @Override
            public void preServe() {
            }

            @Override
            public ServerContext createContext(TProtocol input, TProtocol output) {
                return null;
            }

            @Override
            public void deleteContext(ServerContext context, TProtocol input, TProtocol output) {
                try {
                    handler.shutdown(); // releases the Derby connection of this thread
                } catch (TException error) {
                    throw new IllegalStateException(error);
                }
            }

            @Override
            public void processContext(ServerContext context, TTransport in, TTransport out) {
            }
        });
        server.serve();
    }

    /**
     * Creates the tables of locks, which the schema lacks: Iceberg locks a table to commit. Then ends the
     * locks of dead clients once a minute, after hive.txn.timeout.
     */
    private static void prepareLocks(HiveConf conf) throws Exception {
        try {
            TxnDbUtil.prepDb(conf); // in one transaction
        } catch (SQLException error) {
            if (!EXISTS.equals(error.getSQLState())) {
                throw error;
            }
        }
        TxnStore locks = TxnUtils.getTxnStore(conf);
        Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "lock timeouts");
            thread.setDaemon(true);
            return thread;
        }).scheduleWithFixedDelay(
            locks::performTimeOuts, TIMEOUT_CHECK_SECONDS, TIMEOUT_CHECK_SECONDS, TimeUnit.SECONDS);
    }
}
