package causeway.guard.views;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;

/**
 * Where the metastore's views are, and how to connect to them. {@code service} is the principal that
 * wants a ticket, empty for none; {@code protections} as TicketLogin has them; {@code tls} is null
 * for none. With a ticket there is no TLS: the client of Hive 2.3 that Spark has uses one or the other.
 */
public final class ViewSettings {
    private static final String ADDRESSES = "hive.metastore.uris";

    private final String uris;
    private final String service;
    private final String protections;
    private final ViewTls tls;

    private ViewSettings(String uris, String service, String protections, ViewTls tls) {
        this.uris = uris;
        this.service = service;
        this.protections = protections;
        this.tls = tls;
    }

    /** The views that a configuration names. */
    public static ViewSettings of(Configuration settings) {
        String service = TicketLogin.service(settings);
        return new ViewSettings(settings.get(ADDRESSES, ""), service,
                TicketLogin.protections(settings),
                service.isEmpty() ? ViewTls.of(settings) : null);
    }

    /** The views that {@link #toExecutor} of the driver names. */
    public static ViewSettings ofDriver(String[] words) {
        return new ViewSettings(words[0], "", "",
                words.length > 1 ? ViewTls.trusting(words[1]) : null);
    }

    /**
     * Returns what an executor needs to connect: the addresses, and with TLS the certificates of the
     * truststore, since an executor may have no such file. It has no log-in. Throws IOException.
     */
    public String[] toExecutor() throws IOException {
        return tls == null ? new String[] {uris} : new String[] {uris, tls.authorities()};
    }

    /** Returns these views without a log-in. */
    public ViewSettings withoutLogin() {
        return new ViewSettings(uris, "", "", tls);
    }

    public boolean isEmpty() {
        return uris.isEmpty();
    }

    /** Throws IllegalArgumentException. */
    public List<URI> addresses() {
        List<URI> found = new ArrayList<>();
        for (String each : uris.split(",")) {
            if (!each.trim().isEmpty()) {
                found.add(URI.create(each.trim()));
            }
        }
        return found;
    }

    /** Connects to one of the addresses. Throws TicketLogin.Refused, ViewTls.Failed, IOException. */
    public ViewConnection connect(URI address) throws IOException {
        return new ViewConnection(address, this);
    }

    /** Connects to the first address where that succeeds. Throws as {@link #connect(URI)}. */
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

    String service() {
        return service;
    }

    String protections() {
        return protections;
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
        return uris.equals(views.uris) && service.equals(views.service)
                && protections.equals(views.protections) && Objects.equals(tls, views.tls);
    }

    @Override
    public int hashCode() {
        return Objects.hash(uris, service, protections, tls);
    }
}
