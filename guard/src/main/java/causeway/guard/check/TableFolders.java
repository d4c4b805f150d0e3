package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.plans.Paths;
import causeway.guard.plans.V2Tables;
import java.util.Collections;
import java.util.function.Consumer;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;

/**
 * The folders of Delta tables that a claim lists. Delta reads its log, and the files that its commands
 * change, by path. That is a part of reading or writing the table, and no claim lists the path.
 */
final class TableFolders {
    private final SparkSession session;
    private final Claim claim;
    private final Paths paths;

    TableFolders(SparkSession session, Claim claim, Paths paths) {
        this.session = session;
        this.claim = claim;
        this.paths = paths;
    }

    /**
     * Whether the folder is in that of a table that the claim lists, or of one that the statement creates.
     * Calls {@code check} with the listed table, to refuse it.
     */
    boolean has(String folder, Consumer<CatalogTable> check) {
        if (paths.isIn(folder, claim.tableFolders())) {
            return true;
        }
        for (String name : claim.tables()) {
            CatalogTable table = V2Tables.metadata(session, name);
            if (table == null && claim.written(name) != null && isIn(folder, newFolder(name))) {
                return true;
            }
            if (isDelta(table) && isIn(folder, folderOf(table))) {
                check.accept(table);
                claim.addTableFolder(folderOf(table));
                return true;
            }
        }
        return false;
    }

    /** Whether the folder is in that of a Delta table that the statement may write. */
    boolean hasWritten(String folder) {
        for (String name : claim.tablesWritten()) {
            CatalogTable table = V2Tables.metadata(session, name);
            if (isDelta(table) && isIn(folder, folderOf(table))) {
                return true;
            }
        }
        return false;
    }

    private boolean isIn(String folder, String parent) {
        return paths.isIn(folder, Collections.singletonList(parent));
    }

    private static boolean isDelta(CatalogTable table) {
        return table != null && table.provider().isDefined()
                && table.provider().get().equalsIgnoreCase("delta")
                && table.storage().locationUri().isDefined();
    }

    private static String folderOf(CatalogTable table) {
        return new Path(table.storage().locationUri().get()).toString();
    }

    private String newFolder(String name) {
        return new Path(session.sessionState().catalog()
                .defaultTablePath(CommandCheck.identifier(name))).toString();
    }
}
