package causeway.guard.views;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;

/**
 * The addresses of the metastore's views, and the log-in and TLS of connections to them, each null for
 * none. With a log-in there is no TLS: the client of Hive 2.3 that Spark has uses one or the other.
 */
public final class ViewSettings {
    private static final String ADDRESSES = "hive.metastore.uris";
    private static final String TLS = "tls";
    private static final String TOKEN = "token";
    private static final String NO_LOGIN = "no log-in";

    private final String uris;
    private final SaslLogin login;
    private final ViewTls tls;

    private ViewSettings(String uris, SaslLogin login, ViewTls tls) {
        this.uris = uris;
        this.login = login;
        this.tls = tls;
    }

    /** Returns the views that a configuration names. */
    public static ViewSettings of(Configuration settings) {
        SaslLogin login = TicketLogin.of(settings);
        return new ViewSettings(settings.get(ADDRESSES, ""), login,
                login == null ? ViewTls.of(settings) : null);
    }

    /**
     * Returns the settings that the driver sent by {@link #toExecutor}. Throws SaslLogin.Refused if the
     * driver has no log-in for executors.
     */
    public static ViewSettings ofDriver(String[] fields) throws IOException {
        switch (fields.length > 1 ? fields[1] : "") {
            case TLS:
                return new ViewSettings(fields[0], null, ViewTls.trusting(fields[2]));
            case TOKEN:
                return new ViewSettings(fields[0], new TokenLogin(fields[2], fields[3]), null);
            case NO_LOGIN:
                throw new SaslLogin.Refused("executors have no log-in at " + fields[0] + ": " + fields[2],
                        null);
            default:
                return new ViewSettings(fields[0], null, null);
        }
    }

    /**
     * Returns the fields that an executor needs to connect. The first has the addresses. With TLS the
     * certificates of the truststore follow, since an executor may lack the file. With a ticket a
     * delegation token follows, since an executor has no ticket, or the reason why the view issued none.
     * Throws IOException.
     */
    public String[] toExecutor() throws IOException {
        if (tls != null) {
            return new String[] {uris, TLS, tls.authorities()};
        }
        if (!(login instanceof TicketLogin)) {
            return new String[] {uris};
        }
        try {
            TokenLogin token = ((TicketLogin) login).delegated(this);
            return new String[] {uris, TOKEN, token.text(), token.protections()};
        } catch (SaslLogin.Refused refused) {
            return new String[] {uris, NO_LOGIN, refused.getMessage()};
        }
    }

    /** Returns these views without a log-in. */
    public ViewSettings withoutLogin() {
        return new ViewSettings(uris, null, tls);
    }

    public boolean isEmpty() {
        return uris.isEmpty();
    }

    /** Returns the address of each process of the view. Throws IllegalArgumentException. */
    public List<URI> addresses() {
        List<URI> addresses = new ArrayList<>();
        for (String each : uris.split(",")) {
            if (!each.trim().isEmpty()) {
                addresses.add(URI.create(each.trim()));
            }
        }
        return addresses;
    }

    /** Connects to one of the addresses. Throws SaslLogin.Refused, ViewTls.Failed, IOException. */
    public ViewConnection connect(URI address) throws IOException {
        return new ViewConnection(address, this);
    }

    /** Connects to the first address that accepts. Throws the last error if none does. */
    public ViewConnection connect() throws IOException {
        IOException failure = new IOException(ADDRESSES + " is empty");
        for (URI each : addresses()) {
            try {
                return connect(each);
            } catch (IOException error) {
                failure = error;
            }
        }
        throw failure;
    }

    SaslLogin login() {
        return login;
    }

    ViewTls tls() {
        return tls;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof ViewSettings)) {
            return false;
        }
        ViewSettings views = (ViewSettings) other;
        return uris.equals(views.uris) && Objects.equals(login, views.login)
                && Objects.equals(tls, views.tls);
    }

    @Override
    public int hashCode() {
        return Objects.hash(uris, login, tls);
    }
}
