package causeway.guard.views;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Base64;
import java.util.Collections;
import java.util.Objects;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslException;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;

/** The log-in of a process without a Kerberos ticket, by a delegation token that a view has issued. */
final class TokenLogin extends SaslLogin {
    private static final String GET = "get_delegation_token";
    private static final String REALM = "default"; // of Hadoop's servers
    private static final byte STOP = 0; // these three are Thrift's types of fields
    private static final byte STRING = 11;
    private static final byte STRUCT = 12;

    private final String text;
    private final String protections;

    /** {@code text} is the token; {@code protections} is a list in the form of SASL's QOP. */
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
     * Returns the text of a new token for the user of this connection. Throws Refused if the view issues
     * none, IOException.
     */
    static String issue(ViewConnection view) throws IOException {
        DataOutputStream out = view.out();
        view.beginCall(GET);
        for (int field = 1; field <= 2; field++) { // the owner, empty for the caller, and a renewer
            out.writeByte(STRING);
            out.writeShort(field);
            view.writeText("");
        }
        out.writeByte(STOP);
        out.flush();
        DataInputStream in = view.in();
        boolean failed = view.beginReply();
        byte type = in.readByte();
        failed |= type == STRUCT;
        if (type == STRUCT) { // a MetaException with its message
            in.readShort();
            type = in.readByte();
        }
        if (type != STRING) {
            throw ViewConnection.unexpectedReply();
        }
        in.readShort();
        String reply = view.readText();
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
                    Collections.singletonMap(Sasl.QOP, protections), callbacks -> answer(callbacks, token)));
        } catch (SaslException error) {
            throw new Refused("the view's delegation token is not taken: " + error, error);
        }
    }

    private static void answer(Callback[] callbacks, Token<TokenIdentifier> token)
            throws UnsupportedCallbackException {
        for (Callback each : callbacks) {
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
