/**
 * What Causeway's view of a Hive Metastore adds to Hive's own service (DC-S1, DC-A2).
 *
 * Read beside Hive's hive_metastore.thrift of any version: structures and calls of Hive keep their
 * names, field numbers and meaning. A client that was generated from Hive's file alone skips the
 * two new fields of StorageDescriptor and never meets the new calls.
 */

namespace java causeway.metastore
namespace py causeway_metastore

/** Where an object lies in one cluster. */
struct ClusterStorageDescriptor {
  1: required string ClusterName,
  2: required string Location,
  /** Whether it has the object's present data. Read only. */
  3: optional bool UpToDate,
  /** Which write of the object it holds. Absent when sent: the present one. */
  4: optional string WriteId
}

/**
 * The fields that StorageDescriptor gains. They are added to Hive's own structure:
 *
 *   struct StorageDescriptor {
 *     ... 1 to 12 as in Hive; `2: string location` is the asking cluster's own where it has an
 *     up-to-date copy, else the primary's ...
 *     101: optional ClusterStorageDescriptor PrimaryCluster,
 *     102: optional set<ClusterStorageDescriptor> SecondaryClusters
 *   }
 *
 * They are in replies to calls that name a cluster. Sent back in an alter they are checked:
 * PrimaryCluster must be as it is (its WriteId makes the change conditional), SecondaryClusters
 * replaces the object's copies.
 */
struct StorageDescriptorClusters {
  101: optional ClusterStorageDescriptor PrimaryCluster,
  102: optional set<ClusterStorageDescriptor> SecondaryClusters
}

exception MetaException {
  1: string message
}

/** What changed through the view since a position. */
struct Changes {
  /** Where to go on. */
  1: i64 position,
  /** `db.table`, or `db.*` for a whole database. */
  2: list<string> tables,
  /** Anything may have changed: the asker is new, too late, or knew another process. */
  3: bool everything,
  /** The id of the feed: endpoints with the same one share it, so asking one of them will do. */
  4: string feed
}

service CausewayMetastore {
  /**
   * From now on this connection's calls act in that cluster, as after `USE CLUSTER name` (DC-U1);
   * the empty name goes back to the endpoint's own (DC-U2). An unknown name changes nothing.
   */
  void use_cluster(1: string name) throws (1: MetaException o1),

  /** Changes since `since`, waiting up to `wait_ms` (at most 30 s) for the first. Begin with 0. */
  Changes causeway_changes(1: i64 since, 2: i32 wait_ms),

  /** At once: those changes, and the tables that were settled (below). Its positions are its own. */
  Changes causeway_touched(1: i64 since),

  /** Something else than a view changed the table: caches and followers forget it. */
  void causeway_forget(1: string db_name, 2: string tbl_name),

  /**
   * Returns when the changes of the table that other clients have begun through this process are
   * over. Facts written to the metastore itself before the call are seen by all that begin later,
   * and causeway_touched tells of the table.
   */
  void causeway_settle(1: string db_name, 2: string tbl_name),

  /**
   * The guard in the endpoint's cluster: Spark is about to write, or has written. Ends the copies of
   * each object that the write may change: the table that is named (tbl_name may be empty), in the
   * partitions that the static values `spec` choose, and every object whose folder is at, under or
   * above one of `paths`. `marks` are the ids of the running writes that the statement belongs to;
   * what they cover ends with them. Refused where a path lies in an object's or a copy's folder that
   * the cluster may not write.
   */
  void causeway_write(1: string db_name, 2: string tbl_name, 3: map<string, string> spec,
    4: list<string> paths, 5: list<string> marks) throws (1: MetaException o1)
  // causeway_by_cluster.thrift has a variant of each of Hive's calls that takes the cluster.
}
