package causeway.guard.storage;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A directory in its canonical form: all spellings of one directory for Hadoop are equal.
 *
 * <p>The rules are those of {@code conf/locations.py}, where they are written down. A test compares both
 * with {@code tests/conf/location_cases.json}.
 */
public final class Location {
    private enum Kind { FILE, HOST, BARE, STORE }

    private static final Set<String> FILE_SCHEMES = new HashSet<>(Arrays.asList("file", "pfile"));
    private static final Map<String, String> STORES = stores();
    private static final Pattern URI =
            Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", Pattern.DOTALL);
    private static final Pattern SERVER = Pattern.compile("(\\[[^\\]]*\\]|[^:]*)(?::([0-9]*))?");
    private static final Pattern NUMERIC = Pattern.compile("[0-9.]+|\\[.*\\]");
    private static final String HDFS_PORT = "8020";

    private final Kind kind;
    /** The host; of an object store {@code <store>://<authority>}. */
    private final String host;
    private final String port;
    private final List<String> parts;

    private Location(Kind kind, String host, String port, List<String> parts) {
        this.kind = kind;
        this.host = host;
        this.port = port;
        this.parts = parts;
    }

    /** Returns the location of a URI or a path without a scheme. */
    public static Location of(String text) {
        Matcher uri = URI.matcher(text);
        if (!uri.matches()) {
            return new Location(Kind.BARE, "", "", parts(text));
        }
        return of(uri.group(1), uri.group(2), uri.group(3));
    }

    /** Returns the location of these parts of a URI. {@code authorityText} may be null. */
    public static Location of(String schemeText, String authorityText, String path) {
        String scheme = schemeText.toLowerCase(Locale.ROOT);
        String authority = authorityText == null ? "" : authorityText.toLowerCase(Locale.ROOT);
        if (FILE_SCHEMES.contains(scheme)) {
            return new Location(Kind.FILE, "", "", parts(path));
        }
        if (STORES.containsKey(scheme)) {
            String bucket = STORES.get(scheme) + "://" + authority;
            return new Location(Kind.STORE, bucket, "", parts(path));
        }
        String server = authority.substring(authority.lastIndexOf('@') + 1);
        Matcher hostAndPort = SERVER.matcher(server);
        boolean matches = hostAndPort.matches();
        String host = (matches ? hostAndPort.group(1) : server).replaceFirst("\\.+$", "");
        String port = matches && hostAndPort.group(2) != null ? hostAndPort.group(2) : "";
        if (port.isEmpty() && scheme.equals("hdfs")) {
            port = HDFS_PORT;
        }
        return new Location(Kind.HOST, host, port, withoutRaw(parts(path)));
    }

    /** Returns the possible readings of {@code text}: as it is, and with percent escapes decoded. */
    static List<Location> readings(String text) {
        Location plain = of(text);
        return text.indexOf('%') < 0
                ? Collections.singletonList(plain) : Arrays.asList(plain, of(decoded(text)));
    }

    /** Returns the same directory of another HDFS server. */
    Location at(String server) {
        return of("hdfs", server, String.join("/", parts));
    }

    public boolean isLocal() {
        return kind == Kind.FILE;
    }

    boolean hasHost() {
        return kind == Kind.HOST && !host.isEmpty();
    }

    String host() {
        return host;
    }

    public String path() {
        return "/" + String.join("/", parts);
    }

    int depth() {
        return parts.size();
    }

    /** Whether this is {@code folder} or lies below it, if both may lie in one file system. */
    public boolean isInside(Location folder) {
        return mayShare(folder) && isBelow(folder);
    }

    /** Whether the path is that of {@code folder} or lies below it, in any file system. */
    boolean isBelow(Location folder) {
        return parts.size() >= folder.parts.size()
                && parts.subList(0, folder.parts.size()).equals(folder.parts);
    }

    /** Returns the names of the path below {@code folder}, in which this lies. */
    public List<String> namesBelow(Location folder) {
        return parts.subList(folder.parts.size(), parts.size());
    }

    /** Whether both may lie in one file system. */
    boolean mayShare(Location other) {
        if (kind == Kind.BARE || other.kind == Kind.BARE) {
            return isPath() && other.isPath();
        }
        return kind == other.kind
                && (host.equals(other.host) || (kind == Kind.HOST && sameName(host, other.host)));
    }

    /** Whether both certainly lie in one file system. */
    boolean shares(Location other) {
        boolean same = kind == other.kind && host.equals(other.host) && port.equals(other.port);
        return same || (isPath() && other.isPath());
    }

    private boolean isPath() {
        return kind == Kind.BARE || kind == Kind.FILE;
    }

    @Override
    public boolean equals(Object object) {
        if (!(object instanceof Location)) {
            return false;
        }
        Location other = (Location) object;
        return kind == other.kind && host.equals(other.host) && port.equals(other.port)
                && parts.equals(other.parts);
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, host, port, parts);
    }

    private static List<String> parts(String path) {
        List<String> parts = new ArrayList<>();
        for (String part : path.split("/")) {
            if (part.equals("..")) {
                if (!parts.isEmpty()) {
                    parts.remove(parts.size() - 1);
                }
            } else if (!part.isEmpty() && !part.equals(".")) {
                parts.add(part);
            }
        }
        return parts;
    }

    /** Removes /.reserved/raw, below which HDFS has its whole tree again. */
    private static List<String> withoutRaw(List<String> parts) {
        boolean isRaw = parts.size() > 1
                && parts.get(0).equals(".reserved") && parts.get(1).equals("raw");
        return isRaw ? parts.subList(2, parts.size()) : parts;
    }

    private static String decoded(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            int high = bytes[i] == '%' && i + 2 < bytes.length
                    ? Character.digit(bytes[i + 1], 16) : -1;
            int low = high < 0 ? -1 : Character.digit(bytes[i + 2], 16);
            if (low < 0) {
                out.write(bytes[i]);
            } else {
                out.write(high * 16 + low);
                i += 2;
            }
        }
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }

    /** Whether the labels of one host name are the first labels of the other, and neither is an address. */
    private static boolean sameName(String one, String other) {
        if (one.isEmpty() || other.isEmpty()
                || NUMERIC.matcher(one).matches() || NUMERIC.matcher(other).matches()) {
            return false;
        }
        return one.length() < other.length()
                ? other.startsWith(one + ".") : one.startsWith(other + ".");
    }

    private static Map<String, String> stores() {
        Map<String, String> stores = new HashMap<>();
        for (String name : Arrays.asList("s3", "s3a", "s3n")) {
            stores.put(name, "s3");
        }
        for (String name : Arrays.asList("abfs", "abfss", "wasb", "wasbs")) {
            stores.put(name, "abfs");
        }
        for (String name : Arrays.asList("gs", "adl", "oss", "obs", "cos", "cosn", "o3fs", "ofs")) {
            stores.put(name, name);
        }
        return stores;
    }
}
