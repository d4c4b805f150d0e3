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
import java.nio.charset.StandardCharsets;
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
 * A client of the metastore view's call {@code causeway_write}, in Thrift's binary protocol: Hive's
 * client does not have this call. Connections are kept for the next write.
 */
public final class MetastoreView {
    private static final ConcurrentMap<ViewSettings, MetastoreView> SHARED = new ConcurrentHashMap<>();
    private static final int ATTEMPTS = 3;
    private static final int PAUSE_MILLIS = 200;
    private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(15);
    private static final int CALL = 0x80010001;
    private static final byte STOP = 0;
    private static final byte BOOL = 2;
    private static final byte I32 = 8;
    private static final byte STRING = 11;
    private static final byte STRUCT = 12;
    private static final byte MAP = 13;
    private static final byte LIST = 15;
    private static final int EXCEPTION = 3;
    private static final int UNKNOWN_METHOD = 1;
    private static final int LONGEST = 1 << 20; // bytes of a text in a reply

    private final List<Address> addresses = new ArrayList<>();

    /** Returns the client of these views; a process has one for each settings. */
    static MetastoreView shared(ViewSettings views) {
        return SHARED.computeIfAbsent(views, MetastoreView::new);
    }

    private MetastoreView(ViewSettings views) {
        for (URI each : views.addresses()) {
            addresses.add(new Address(each, views));
        }
    }

    /** Closes the unused connections of the client of these views, which the process uses no more. */
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
     * Returns when no object that the write may change has a fresh copy. Each process of the view gets
     * the report, since any of them may publish a copy; a process that does not run gets it when it
     * is repeated. Throws IOException when none runs.
     */
    void report(WriteReport write) throws IOException, Refused, NotKnown {
        if (addresses.isEmpty()) {
            throw new NotKnown();
        }
        boolean reported = false;
        List<Address> away = new ArrayList<>();
        for (Address each : addresses) {
            if (each.isAway()) {
                away.add(each);
            } else {
                reported |= each.tryReport(write);
            }
        }
        for (Address each : reported ? Collections.<Address>emptyList() : away) {
            reported |= each.tryReport(write);
        }
        if (!reported) {
            throw new IOException("no metastore view is reached at " + addresses);
        }
    }

    /** Whether a report may have reached one process and not another. */
    boolean isSeveral() {
        return addresses.size() > 1;
    }

    /** One process of the view. */
    private static final class Address {
        private final URI uri;
        private final ViewSettings views;
        private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
        private volatile boolean failed;
        private volatile long failure;

        Address(URI uri, ViewSettings views) {
            this.uri = uri;
            this.views = views;
        }

        /** Whether the last connection failed within the last 15 seconds. */
        boolean isAway() {
            return failed && System.nanoTime() - failure < AWAY_NANOS;
        }

        /** Returns whether the process runs; a running process has got the report. */
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

        /** A process that ends breaks its connections, and then is not reached: the call is made again. */
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
                Connection made = new Connection(views.connect(uri));
                failed = false;
                return made;
            } catch (SaslLogin.Refused | ViewTls.Failed refused) {
                throw refused; // a process runs, and has not got the report
            } catch (IOException error) {
                failure = System.nanoTime();
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
        private final ViewConnection connection;
        private final DataOutputStream out;
        private final DataInputStream in;

        Connection(ViewConnection connection) {
            this.connection = connection;
            out = connection.out();
            in = connection.in();
        }

        @Override
        public void close() throws IOException {
            connection.close();
        }

        void send(WriteReport write) throws IOException {
            out.writeInt(CALL);
            text("causeway_write");
            out.writeInt(0);
            if (write.table != null) {
                field(STRING, 1);
                text(write.database);
                field(STRING, 2);
                text(write.table);
            }
            field(MAP, 3);
            out.writeByte(STRING);
            out.writeByte(STRING);
            out.writeInt(write.spec.size());
            for (Map.Entry<String, String> each : write.spec.entrySet()) {
                text(each.getKey());
                text(each.getValue());
            }
            texts(4, write.paths);
            texts(5, write.marks);
            if (write.id != null) {
                field(STRING, 6);
                text(write.id);
                field(BOOL, 7);
                out.writeBoolean(write.ended);
                field(STRING, 8);
                text(write.by);
                field(STRING, 9);
                text(write.application);
            }
            out.writeByte(STOP);
            out.flush();
        }

        private void texts(int number, Collection<String> texts) throws IOException {
            field(LIST, number);
            out.writeByte(STRING);
            out.writeInt(texts.size());
            for (String each : texts) {
                text(each);
            }
        }

        private void field(byte type, int number) throws IOException {
            out.writeByte(type);
            out.writeShort(number);
        }

        private void text(String text) throws IOException {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            out.writeInt(bytes.length);
            out.write(bytes);
        }

        void receive() throws IOException, Refused, NotKnown {
            boolean failed = (in.readInt() & 0xff) == EXCEPTION;
            readText(); // the call's name
            in.readInt();
            String message = null;
            int kind = 0;
            for (byte type = in.readByte(); type != STOP; type = in.readByte()) {
                in.readShort();
                if (type == STRUCT) {
                    message = readException();
                } else if (type == STRING) {
                    message = readText();
                } else if (type == I32) {
                    kind = in.readInt();
                } else {
                    throw new IOException("the metastore's reply is not understood");
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
                    throw new IOException("the metastore's reply is not understood");
                }
                message = readText();
            }
            return message;
        }

        private String readText() throws IOException {
            int length = in.readInt();
            if (length < 0 || length > LONGEST) {
                throw new IOException("the metastore's reply is not understood");
            }
            byte[] bytes = new byte[length];
            in.readFully(bytes);
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
