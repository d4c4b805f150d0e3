package causeway.guard.views;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslException;
import org.apache.hadoop.conf.Configuration;

/**
 * A log-in to a metastore view by SASL. Messages of the log-in are Thrift's {@code [status][length][payload]}.
 * Frames {@code [length][content]} follow, with wrapped content if both sides agreed on a protection.
 */
public abstract class SaslLogin {
    private static final String PROTECTION = "hadoop.rpc.protection";
    private static final byte START = 1;
    private static final byte OK = 2;
    private static final byte COMPLETE = 5;
    private static final int MAX_BYTES = 1 << 24; // bytes of a message or frame
    private static final int MAX_STEPS = 8;
    private static final int MAX_WRAPPED_BYTES = 32 << 10; // bytes that are wrapped at once

    /** The view refuses the ticket or token, or the process has none; the message has the reason. */
    public static final class Refused extends IOException {
        private static final long serialVersionUID = 1L;

        Refused(String message, Exception cause) {
            super(message, cause);
        }
    }

    /** Returns the protections of messages that the process accepts, as a list in the form of SASL's QOP. */
    static String protections(Configuration settings) {
        StringBuilder names = new StringBuilder();
        for (String each : settings.getTrimmedStrings(PROTECTION, "authentication")) {
            String lower = each.toLowerCase(Locale.ROOT);
            names.append(names.length() == 0 ? "" : ",");
            names.append(
                    lower.equals("privacy")
                            ? "auth-conf"
                            : lower.equals("integrity") ? "auth-int" : "auth");
        }
        return names.toString();
    }

    /** The two directions of a connection after the log-in. */
    static final class Streams {
        final InputStream in;
        final OutputStream out;

        Streams(InputStream in, OutputStream out) {
            this.in = in;
            this.out = out;
        }
    }

    /** Logs in to the view at {@code host}. Throws Refused, IOException. */
    abstract Streams logIn(DataInputStream in, DataOutputStream out, String host)
            throws IOException;

    /** Exchanges messages until both sides are done. Throws Refused, IOException. */
    static Streams negotiate(DataInputStream in, DataOutputStream out, SaslClient client)
            throws IOException {
        send(out, START, client.getMechanismName().getBytes(StandardCharsets.US_ASCII));
        byte[] first = client.hasInitialResponse() ? client.evaluateChallenge(new byte[0]) : null;
        send(out, client.isComplete() ? COMPLETE : OK, first);
        for (int step = 0; step < MAX_STEPS; step++) {
            out.flush();
            byte status = in.readByte();
            byte[] payload = new byte[checked(in.readInt())];
            in.readFully(payload);
            if (status != OK && status != COMPLETE) {
                throw new Refused(new String(payload, StandardCharsets.UTF_8), null);
            }
            byte[] response = client.isComplete() ? null : client.evaluateChallenge(payload);
            if (status == COMPLETE) {
                break;
            }
            send(out, client.isComplete() ? COMPLETE : OK, response);
        }
        if (!client.isComplete()) {
            throw new SaslException("the view did not prove who it is");
        }
        boolean wrapped = !"auth".equals(client.getNegotiatedProperty(Sasl.QOP));
        SaslClient layer = wrapped ? client : null;
        return new Streams(new FrameInput(in, layer), new FrameOutput(out, layer));
    }

    private static void send(DataOutputStream out, byte status, byte[] payload) throws IOException {
        byte[] content = payload == null ? new byte[0] : payload;
        out.writeByte(status);
        out.writeInt(content.length);
        out.write(content);
    }

    /** Returns the length of a message. Throws IOException if no message has this length. */
    static int checked(int length) throws IOException {
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("not a message of SASL");
        }
        return length;
    }

    private static final class FrameInput extends InputStream {
        private final DataInputStream in;
        private final SaslClient layer;
        private ByteArrayInputStream content = new ByteArrayInputStream(new byte[0]);

        FrameInput(DataInputStream in, SaslClient layer) {
            this.in = in;
            this.layer = layer;
        }

        @Override
        public int read() throws IOException {
            fill();
            return content.read();
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            fill();
            return content.read(into, offset, length);
        }

        private void fill() throws IOException {
            while (content.available() == 0) {
                byte[] frame = new byte[checked(in.readInt())];
                in.readFully(frame);
                byte[] plain = layer == null ? frame : layer.unwrap(frame, 0, frame.length);
                content = new ByteArrayInputStream(plain);
            }
        }
    }

    private static final class FrameOutput extends ByteArrayOutputStream {
        private final DataOutputStream out;
        private final SaslClient layer;

        FrameOutput(DataOutputStream out, SaslClient layer) {
            this.out = out;
            this.layer = layer;
        }

        @Override
        public void flush() throws IOException {
            byte[] data = toByteArray();
            reset();
            for (int start = 0; start < data.length; start += MAX_WRAPPED_BYTES) {
                int size = Math.min(MAX_WRAPPED_BYTES, data.length - start);
                byte[] wrapped = layer == null ? null : layer.wrap(data, start, size);
                out.writeInt(wrapped == null ? size : wrapped.length);
                out.write(wrapped == null ? data : wrapped, wrapped == null ? start : 0,
                        wrapped == null ? size : wrapped.length);
            }
            out.flush();
        }
    }
}
