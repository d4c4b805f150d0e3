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

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
