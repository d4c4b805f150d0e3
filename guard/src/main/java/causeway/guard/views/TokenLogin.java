package causeway.guard.views;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.Objects;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslException;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;

/** The log-in by a delegation token that a view has issued, for processes without a ticket. */
final class TokenLogin extends SaslLogin {
    private static final String GET = "get_delegation_token";
    private static final String REALM = "default"; // of Hadoop's servers
    private static final int CALL = 0x80010001;
    private static final int EXCEPTION = 3;
    private static final byte STOP = 0;
    private static final byte STRING = 11;
    private static final byte STRUCT = 12;

    private final String text;
    private final String protections;

    /** {@code text} is that of the token; {@code protections} as {@link #protections} has them. */
    TokenLogin(String text, String protections) {
        this.text = text;
        this.protections = protections;
    }

    String text() {
        return text;
    }

    String protections() {
        return protections;
    }

    /**
     * Returns the text of a token for the caller of this connection. Throws Refused if the view issues
     * none, IOException.
     */
    static String issue(ViewConnection view) throws IOException {
        DataOutputStream out = view.out();
        out.writeInt(CALL);
        write(out, GET);
        out.writeInt(0);
        for (int field = 1; field <= 2; field++) { // the owner, empty for the caller, and a renewer
            out.writeByte(STRING);
            out.writeShort(field);
            write(out, "");
        }
        out.writeByte(STOP);
        out.flush();
        DataInputStream in = view.in();
        boolean failed = (in.readInt() & 0xff) == EXCEPTION;
        read(in); // the call's name
        in.readInt();
        byte type = in.readByte();
        failed |= type == STRUCT;
        if (type == STRUCT) { // a MetaException with its message
            in.readShort();
            type = in.readByte();
        }
        if (type != STRING) {
            throw new IOException("the view's reply to " + GET + " is not understood");
        }
        in.readShort();
        String reply = read(in);
        if (failed) {
            throw new Refused(reply, null);
        }
        return reply;
    }

    @Override
    Streams logIn(DataInputStream in, DataOutputStream out, String host) throws IOException {
        Token<TokenIdentifier> token = new Token<>();
        token.decodeFromUrlString(text);
        String[] mechanisms = {"DIGEST-MD5"};
        try {
            return negotiate(in, out, Sasl.createSaslClient(mechanisms, null, null, REALM,
                    Collections.singletonMap(Sasl.QOP, protections), asked -> answer(asked, token)));
        } catch (SaslException error) {
            throw new Refused("the view's delegation token is not taken: " + error, error);
        }
    }

    private static void answer(Callback[] asked, Token<TokenIdentifier> token)
            throws UnsupportedCallbackException {
        for (Callback each : asked) {
            if (each instanceof NameCallback) {
                ((NameCallback) each).setName(encoded(token.getIdentifier()));
            } else if (each instanceof PasswordCallback) {
                ((PasswordCallback) each).setPassword(encoded(token.getPassword()).toCharArray());
            } else if (each instanceof RealmCallback) {
                ((RealmCallback) each).setText(((RealmCallback) each).getDefaultText());
            } else {
                throw new UnsupportedCallbackException(each);
            }
        }
    }

    private static String encoded(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String read(DataInputStream in) throws IOException {
        byte[] bytes = new byte[checked(in.readInt())];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TokenLogin && text.equals(((TokenLogin) other).text)
                && protections.equals(((TokenLogin) other).protections);
    }

    @Override
    public int hashCode() {
        return Objects.hash(text, protections);
    }
}
