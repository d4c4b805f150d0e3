package causeway.guard.access;

/** Columns that Hudi adds to its tables, in which values of other columns are. */
final class HudiColumns {
    private HudiColumns() {}

    static boolean holdKeys(String column) {
        return column.equals("_hoodie_record_key") || column.equals("_hoodie_partition_path");
    }
}
