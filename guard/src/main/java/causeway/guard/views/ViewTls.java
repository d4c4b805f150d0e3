package causeway.guard.views;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Base64;
import java.util.Collections;
import java.util.Objects;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.apache.hadoop.conf.Configuration;

/**
 * TLS to a metastore view, by the settings of Hive's own client. The view's certificate has to be
 * for the host of its address. A changed truststore is read for the next connection.
 */
public final class ViewTls {
    private static final String ENABLED = "hive.metastore.use.SSL";
    private static final String PATH = "hive.metastore.truststore.path";
    private static final String PASSWORD = "hive.metastore.truststore.password";
    private static final String TYPE = "JKS"; // as Hive's client has it; Java reads PKCS12 too
    private static final int HANDSHAKE_MILLIS = 10_000;
    private static final ScheduledThreadPoolExecutor TIMERS = newTimers();

    private final String path;
    private final String password;
    private final String authorities;
    private SSLContext context;
    private long version;

    /** {@code authorities}: the certificates to trust, if {@code path} is empty; empty for those of Java. */
    private ViewTls(String path, String password, String authorities) {
        this.path = path;
        this.password = password;
        this.authorities = authorities;
    }

    /** The handshake failed: the view does not speak TLS, or its certificate is not trusted. */
    public static final class Failed extends IOException {
        private static final long serialVersionUID = 1L;

        Failed(String message, Exception cause) {
            super(message, cause);
        }
    }

    /** Returns the TLS of these settings; null if they have none. Throws UncheckedIOException. */
    static ViewTls of(Configuration settings) {
        if (!settings.getBoolean(ENABLED, false)) {
            return null;
        }
        try {
            char[] password = settings.getPassword(PASSWORD);
            return new ViewTls(settings.getTrimmed(PATH, ""),
                    password == null ? "" : new String(password), "");
        } catch (IOException error) {
            throw new UncheckedIOException(PASSWORD + ": " + error, error);
        }
    }

    /** Returns TLS that trusts the certificates which {@link #authorities} returned in another process. */
    static ViewTls trusting(String authorities) {
        return new ViewTls("", "", authorities);
    }

    /** Returns the truststore's certificates in Base64; empty for those of Java. Throws IOException. */
    String authorities() throws IOException {
        if (path.isEmpty()) {
            return authorities;
        }
        try {
            StringBuilder certificates = new StringBuilder();
            KeyStore store = truststore();
            for (String alias : Collections.list(store.aliases())) {
                if (store.isCertificateEntry(alias)) {
                    byte[] encoded = store.getCertificate(alias).getEncoded();
                    certificates.append(certificates.length() == 0 ? "" : ",")
                            .append(Base64.getEncoder().encodeToString(encoded));
                }
            }
            return certificates.toString();
        } catch (GeneralSecurityException error) {
            throw new IOException(PATH + ": " + path + ": " + error, error);
        }
    }

    /** Returns a connection over {@code plain}, after the handshake. Throws Failed, IOException. */
    Socket over(Socket plain, String host, int port) throws IOException {
        SSLSocket socket =
                (SSLSocket) context().getSocketFactory().createSocket(plain, host, port, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        ScheduledFuture<?> timer =
                TIMERS.schedule(() -> close(plain), HANDSHAKE_MILLIS, TimeUnit.MILLISECONDS);
        try {
            socket.startHandshake();
        } catch (IOException error) {
            String reason = timer.isDone() ? "it did not end in time" : error.toString();
            throw new Failed("the TLS handshake with " + host + ":" + port + " failed ("
                    + ENABLED + " is true): " + reason, error);
        } finally {
            timer.cancel(false);
        }
        return socket;
    }

    private static void close(Socket plain) {
        try {
            plain.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private synchronized SSLContext context() throws IOException {
        long current = path.isEmpty() ? 0 : Files.getLastModifiedTime(file()).toMillis();
        if (context == null || current != version) {
            try {
                TrustManagerFactory trust =
                        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init(truststore());
                SSLContext created = SSLContext.getInstance("TLS");
                created.init(null, trust.getTrustManagers(), null);
                context = created;
                version = current;
            } catch (GeneralSecurityException error) {
                throw new IOException(PATH + ": " + path + ": " + error, error);
            }
        }
        return context;
    }

    /** Returns the certificates to trust; null for those of Java. */
    private KeyStore truststore() throws GeneralSecurityException, IOException {
        if (path.isEmpty() && authorities.isEmpty()) {
            return null;
        }
        KeyStore store = KeyStore.getInstance(TYPE);
        if (!path.isEmpty()) {
            try (InputStream in = Files.newInputStream(file())) {
                store.load(in, password.toCharArray());
            }
            return store;
        }
        store.load(null, null);
        CertificateFactory certificates = CertificateFactory.getInstance("X.509");
        for (String each : authorities.split(",")) {
            byte[] encoded = Base64.getDecoder().decode(each);
            Certificate created =
                    certificates.generateCertificate(new ByteArrayInputStream(encoded));
            store.setCertificateEntry(Integer.toString(store.size()), created);
        }
        return store;
    }

    private Path file() {
        return Paths.get(path);
    }

    private static ScheduledThreadPoolExecutor newTimers() {
        ScheduledThreadPoolExecutor created = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "causeway-handshakes");
            thread.setDaemon(true);
            return thread;
        });
        created.setRemoveOnCancelPolicy(true);
        return created;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof ViewTls)) {
            return false;
        }
        ViewTls tls = (ViewTls) other;
        return path.equals(tls.path) && password.equals(tls.password)
                && authorities.equals(tls.authorities);
    }

    @Override
    public int hashCode() {
        return Objects.hash(path, password, authorities);
    }
}
