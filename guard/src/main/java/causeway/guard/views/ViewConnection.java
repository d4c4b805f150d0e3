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

/** A connection to a metastore's view, after the log-in. */
public final class ViewConnection implements Closeable {
    private static final int CONNECT_MILLIS = 10_000;
    private static final int REPLY_MILLIS = 600_000;

    private final Socket socket = new Socket();
    private final DataInputStream in;
    private final DataOutputStream out;

    /** Connects to one of the views' addresses. Throws TicketLogin.Refused, IOException. */
    ViewConnection(URI address, ViewSettings views) throws IOException {
        try {
            socket.connect(
                    new InetSocketAddress(address.getHost(), address.getPort()), CONNECT_MILLIS);
            socket.setSoTimeout(REPLY_MILLIS);
            socket.setTcpNoDelay(true);
            DataOutputStream output =
                    new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            DataInputStream input =
                    new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            if (!views.service().isEmpty()) {
                TicketLogin.Streams streams =
                        TicketLogin.logIn(input, output, address.getHost(), views);
                output = new DataOutputStream(streams.out);
                input = new DataInputStream(streams.in);
            }
            out = output;
            in = input;
        } catch (IOException error) {
            socket.close();
            throw error;
        }
    }

    public DataInputStream in() {
        return in;
    }

    public DataOutputStream out() {
        return out;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
