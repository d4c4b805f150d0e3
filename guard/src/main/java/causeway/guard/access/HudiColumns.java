package causeway.guard.access;

/** The columns that Hudi adds to its tables and that contain values of other columns. */
final class HudiColumns {
    private HudiColumns() {}

    static boolean holdKeys(String column) {
        return column.equals("_hoodie_record_key") || column.equals("_hoodie_partition_path");
    }
}
