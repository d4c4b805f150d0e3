package causeway.guard.views;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;

/**
 * The log-in by the process's Kerberos ticket. A process that was started with a delegation token uses the
 * token, as Hive's client does.
 */
final class TicketLogin extends SaslLogin {
    private static final String ENABLED = "hive.metastore.sasl.enabled";
    private static final String PRINCIPAL = "hive.metastore.kerberos.principal";

    private static final String SIGNATURE = "hive.metastore.token.signature";
    private static final Text KIND = new Text("HIVE_DELEGATION_TOKEN");

    private final String service;
    private final String signature; // the service of a token
    private final String protections;

    private TicketLogin(String service, String signature, String protections) {
        this.service = service;
        this.signature = signature;
        this.protections = protections;
    }

    /** Returns the log-in by these settings; null if they have no Kerberos. */
    static TicketLogin of(Configuration settings) {
        String service = settings.getBoolean(ENABLED, false) ? settings.get(PRINCIPAL, "") : "";
        return service.isEmpty() ? null : new TicketLogin(
                service, settings.get(SIGNATURE, ""), protections(settings));
    }

    /**
     * Returns a log-in for a process without a ticket: by this process's token, or by a new one of the
     * view. Throws Refused if the view issues none, IOException.
     */
    TokenLogin delegated(ViewSettings views) throws IOException {
        TokenLogin own = token();
        if (own != null) {
            return own;
        }
        try (ViewConnection view = views.connect()) {
            return new TokenLogin(TokenLogin.issue(view), protections);
        }
    }

    /** Returns the log-in by the token that this process was started with; null without one. */
    private TokenLogin token() throws IOException {
        for (Token<?> each : UserGroupInformation.getLoginUser().getTokens()) {
            if (each.getKind().equals(KIND) && each.getService().toString().equals(signature)) {
                return new TokenLogin(each.encodeToUrlString(), protections);
            }
        }
        return null;
    }

    /** Replaces {@code _HOST} in the service by {@code host}. */
    @Override
    Streams logIn(DataInputStream in, DataOutputStream out, String host) throws IOException {
        TokenLogin own = token();
        if (own != null) {
            return own.logIn(in, out, host);
        }
        String[] parts = SecurityUtil.getServerPrincipal(service, host).split("[/@]");
        if (parts.length != 3) {
            throw new Refused(PRINCIPAL + " is not name/host@REALM: " + service, null);
        }
        UserGroupInformation user = UserGroupInformation.getLoginUser();
        user.checkTGTAndReloginFromKeytab();
        try {
            return user.doAs(
                    (PrivilegedExceptionAction<Streams>)
                            () -> negotiate(in, out, client(parts[0], parts[1])));
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new IOException(stopped);
        } catch (SaslException error) {
            throw new Refused("no ticket of " + user + " for " + service + ": " + error, error);
        }
    }

    private SaslClient client(String name, String host) throws SaslException {
        Map<String, String> properties = Collections.singletonMap(Sasl.QOP, protections);
        String[] mechanisms = {"GSSAPI"};
        SaslClient client = Sasl.createSaslClient(mechanisms, null, name, host, properties, null);
        if (client == null) {
            throw new SaslException("this Java has no GSSAPI");
        }
        return client;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TicketLogin && service.equals(((TicketLogin) other).service)
                && signature.equals(((TicketLogin) other).signature)
                && protections.equals(((TicketLogin) other).protections);
    }

    @Override
    public int hashCode() {
        return Objects.hash(service, signature, protections);
    }
}
