package causeway.guard.writes;

import causeway.guard.views.SaslLogin;
import causeway.guard.views.ViewConnection;
import causeway.guard.views.ViewSettings;
import causeway.guard.views.ViewTls;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/**
 * Sends the reports of writes to the metastore view: a client of its call {@code causeway_write}, which
 * Hive's own client lacks. Connections are kept for the next report.
 */
public final class MetastoreView {
    private static final ConcurrentMap<ViewSettings, MetastoreView> SHARED = new ConcurrentHashMap<>();
    private static final int ATTEMPTS = 3;
    private static final int PAUSE_MILLIS = 200;
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(15);
    private static final byte STOP = 0; // Thrift's types of fields
    private static final byte BOOL = 2;
    private static final byte I32 = 8;
    private static final byte STRING = 11;
    private static final byte STRUCT = 12;
    private static final byte MAP = 13;
    private static final byte LIST = 15;
    private static final int UNKNOWN_METHOD = 1; // a kind of Thrift's own exceptions

    private final List<Address> addresses = new ArrayList<>();

    /** Returns the process's client of these views. */
    static MetastoreView shared(ViewSettings views) {
        return SHARED.computeIfAbsent(views, MetastoreView::new);
    }

    private MetastoreView(ViewSettings views) {
        for (URI each : views.addresses()) {
            addresses.add(new Address(each, views));
        }
    }

    /** Removes the client of these views, and closes its unused connections. */
    static void forget(ViewSettings views) throws IOException {
        MetastoreView client = SHARED.remove(views);
        for (Address each : client == null ? Collections.<Address>emptyList() : client.addresses) {
            for (Connection unused = each.idle.pollFirst(); unused != null;
                    unused = each.idle.pollFirst()) {
                unused.close();
            }
        }
    }

    /** The view refuses the write; the message has the reason. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        Refused(String message) {
            super(message);
        }
    }

    /** The metastore is no view, or a view of an older version without the call. */
    public static final class NotKnown extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /** No process listens at the address. */
    private static final class Unreachable extends IOException {
        private static final long serialVersionUID = 1L;

        Unreachable(IOException cause) {
            super(cause.toString(), cause);
        }
    }

    /**
     * Sends the report to each process of the view, since any of them may publish a copy. After that no
     * object that the write may change has a fresh copy. A process that does not run is left out: it
     * receives the report when that is repeated. Throws Refused, NotKnown, or IOException when no process runs.
     */
    void report(WriteReport write) throws IOException, Refused, NotKnown {
        if (addresses.isEmpty()) {
            throw new NotKnown();
        }
        boolean reported = false;
        List<Address> skipped = new ArrayList<>();
        for (Address each : addresses) {
            if (each.hasFailedRecently()) {
                skipped.add(each);
            } else {
                reported |= each.tryReport(write);
            }
        }
        for (Address each : reported ? Collections.<Address>emptyList() : skipped) {
            reported |= each.tryReport(write);
        }
        if (!reported) {
            throw new IOException("no metastore view is reached at " + addresses);
        }
    }

    /** Whether the view has several processes, so that a report may have reached one and not another. */
    boolean hasSeveralProcesses() {
        return addresses.size() > 1;
    }

    /** One process of the view. */
    private static final class Address {
        private final URI uri;
        private final ViewSettings views;
        private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
        private volatile boolean failed;
        private volatile long failedAt;

        Address(URI uri, ViewSettings views) {
            this.uri = uri;
            this.views = views;
        }

        /** Whether the last connection failed within the last 15 seconds. */
        boolean hasFailedRecently() {
            return failed && System.nanoTime() - failedAt < RETRY_NANOS;
        }

        /** Sends the report. Returns false if the process does not run. */
        boolean tryReport(WriteReport write) throws IOException, Refused, NotKnown {
            try {
                report(write);
                return true;
            } catch (Unreachable absent) {
                return false;
            }
        }

        @Override
        public String toString() {
            return uri.toString();
        }

        /**
         * Sends the report, and sends it again if the connection breaks. A process that ends breaks its
         * connections first, and is Unreachable in the next attempt.
         */
        private void report(WriteReport write) throws IOException, Refused, NotKnown {
            Connection kept = idle.pollFirst();
            for (int left = ATTEMPTS; ; left--) {
                try {
                    use(kept != null ? kept : connect(), write);
                    return;
                } catch (Unreachable | SaslLogin.Refused | SocketTimeoutException absent) {
                    throw absent;
                } catch (IOException broken) {
                    if (left == 0) {
                        throw broken;
                    }
                }
                if (kept == null) {
                    pause();
                }
                kept = null;
            }
        }

        private static void pause() throws IOException {
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException();
            }
        }

        private Connection connect() throws Unreachable, SaslLogin.Refused, ViewTls.Failed {
            try {
                Connection connection = new Connection(views.connect(uri));
                failed = false;
                return connection;
            } catch (SaslLogin.Refused | ViewTls.Failed refused) {
                throw refused; // the process runs, so it must not be left out
            } catch (IOException error) {
                failedAt = System.nanoTime();
                failed = true;
                throw new Unreachable(error);
            }
        }

        private void use(Connection connection, WriteReport write)
                throws IOException, Refused, NotKnown {
            try {
                connection.send(write);
                connection.receive();
            } catch (IOException broken) {
                connection.close();
                throw broken;
            } catch (Refused | NotKnown refused) {
                idle.addFirst(connection);
                throw refused;
            }
            idle.addFirst(connection);
        }
    }

    private static final class Connection implements Closeable {
        private final ViewConnection view;
        private final DataOutputStream out;
        private final DataInputStream in;

        Connection(ViewConnection view) {
            this.view = view;
            out = view.out();
            in = view.in();
        }

        @Override
        public void close() throws IOException {
            view.close();
        }

        /** Sends the call. metastore/view/spark_writes reads its fields. */
        void send(WriteReport write) throws IOException {
            view.beginCall("causeway_write");
            if (write.table != null) {
                field(STRING, 1);
                view.writeText(write.database);
                field(STRING, 2);
                view.writeText(write.table);
            }
            field(MAP, 3);
            out.writeByte(STRING);
            out.writeByte(STRING);
            out.writeInt(write.spec.size());
            for (Map.Entry<String, String> each : write.spec.entrySet()) {
                view.writeText(each.getKey());
                view.writeText(each.getValue());
            }
            texts(4, write.paths);
            texts(5, write.marks);
            if (write.id != null) {
                field(STRING, 6);
                view.writeText(write.id);
                field(BOOL, 7);
                out.writeBoolean(write.ended);
                field(STRING, 8);
                view.writeText(write.by);
                field(STRING, 9);
                view.writeText(write.application);
            }
            out.writeByte(STOP);
            out.flush();
        }

        private void texts(int number, Collection<String> texts) throws IOException {
            field(LIST, number);
            out.writeByte(STRING);
            out.writeInt(texts.size());
            for (String each : texts) {
                view.writeText(each);
            }
        }

        private void field(byte type, int number) throws IOException {
            out.writeByte(type);
            out.writeShort(number);
        }

        /** Receives the reply, which has no value. */
        void receive() throws IOException, Refused, NotKnown {
            boolean failed = view.beginReply();
            String message = null;
            int kind = 0;
            for (byte type = in.readByte(); type != STOP; type = in.readByte()) {
                in.readShort();
                if (type == STRUCT) {
                    message = readException();
                } else if (type == STRING) {
                    message = view.readText();
                } else if (type == I32) {
                    kind = in.readInt();
                } else {
                    throw ViewConnection.unexpectedReply();
                }
            }
            if (failed && kind == UNKNOWN_METHOD) {
                throw new NotKnown();
            }
            if (failed || message != null) {
                throw new Refused(String.valueOf(message));
            }
        }

        private String readException() throws IOException {
            String message = "";
            for (byte type = in.readByte(); type != STOP; type = in.readByte()) {
                in.readShort();
                if (type != STRING) {
                    throw ViewConnection.unexpectedReply();
                }
                message = view.readText();
            }
            return message;
        }
    }
}
