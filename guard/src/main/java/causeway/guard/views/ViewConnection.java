package causeway.guard.views;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/**
 * A connection to a metastore view, after the log-in. It has the parts of Thrift's binary protocol that
 * calls without a generated client need.
 */
public final class ViewConnection implements Closeable {
    private static final int CALL = 0x80010001; // the protocol's version, and the type of message
    private static final int EXCEPTION = 3; // the type of message
    private static final int MAX_TEXT_BYTES = 1 << 20;
    private static final int CONNECT_MILLIS = 10_000;
    private static final int REPLY_MILLIS = 600_000;

    private final Socket plain = new Socket();
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** Throws SaslLogin.Refused, ViewTls.Failed, IOException. */
    ViewConnection(URI address, ViewSettings views) throws IOException {
        try {
            String host = address.getHost();
            plain.connect(new InetSocketAddress(host, address.getPort()), CONNECT_MILLIS);
            plain.setSoTimeout(REPLY_MILLIS);
            plain.setTcpNoDelay(true);
            ViewTls tls = views.tls();
            socket = tls == null ? plain : tls.over(plain, host, address.getPort());
            DataOutputStream output =
                    new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            DataInputStream input =
                    new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            SaslLogin login = views.login();
            if (login != null) {
                SaslLogin.Streams streams = login.logIn(input, output, host);
                output = new DataOutputStream(streams.out);
                input = new DataInputStream(streams.in);
            }
            out = output;
            in = input;
        } catch (IOException error) {
            plain.close();
            throw error;
        }
    }

    public DataInputStream in() {
        return in;
    }

    public DataOutputStream out() {
        return out;
    }

    /** Begins a call. Its fields, the stop and a flush of {@link #out} have to follow. */
    public void beginCall(String method) throws IOException {
        out.writeInt(CALL);
        writeText(method);
        out.writeInt(0);
    }

    /** Reads the header of a reply. Returns whether an exception of Thrift's own follows. */
    public boolean beginReply() throws IOException {
        boolean isException = (in.readInt() & 0xff) == EXCEPTION;
        readText(); // the method
        in.readInt();
        return isException;
    }

    public void writeText(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    public String readText() throws IOException {
        int length = in.readInt();
        if (length < 0 || length > MAX_TEXT_BYTES) {
            throw unexpectedReply();
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Returns the error for a reply with fields of other types than the call has. */
    public static IOException unexpectedReply() {
        return new IOException("the metastore's reply is not understood");
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
