package causeway.guard.views;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;

/**
 * Where the metastore's views are, and how to log in to them. {@code service} is the principal that
 * wants a ticket, empty for none; {@code protections} as TicketLogin has them.
 */
public final class ViewSettings {
    private static final String ADDRESSES = "hive.metastore.uris";

    private final String uris;
    private final String service;
    private final String protections;

    private ViewSettings(String uris, String service, String protections) {
        this.uris = uris;
        this.service = service;
        this.protections = protections;
    }

    /** The views that a configuration names. */
    public static ViewSettings of(Configuration settings) {
        return new ViewSettings(settings.get(ADDRESSES, ""), TicketLogin.service(settings),
                TicketLogin.protections(settings));
    }

    /** The views at these addresses, a value of hive.metastore.uris, without a log-in. */
    public static ViewSettings at(String uris) {
        return new ViewSettings(uris, "", "");
    }

    /** The value of hive.metastore.uris. */
    public String uris() {
        return uris;
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

    /** Connects to one of the addresses. Throws TicketLogin.Refused, IOException. */
    public ViewConnection connect(URI address) throws IOException {
        return new ViewConnection(address, this);
    }

    /** Connects to the first address that can be reached. Throws TicketLogin.Refused, IOException. */
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

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof ViewSettings)) {
            return false;
        }
        ViewSettings views = (ViewSettings) other;
        return uris.equals(views.uris) && service.equals(views.service)
                && protections.equals(views.protections);
    }

    @Override
    public int hashCode() {
        return Objects.hash(uris, service, protections);
    }
}
