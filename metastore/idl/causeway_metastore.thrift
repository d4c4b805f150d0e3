/**
 * The structures and calls that Causeway's view adds to the service of a Hive Metastore (DC-S1,
 * DC-A2).
 *
 * It is used beside Hive's hive_metastore.thrift of any version: structures and calls of Hive keep
 * their names, field numbers and meaning. A client that was generated from Hive's file alone skips
 * the two new fields of StorageDescriptor and does not have the new calls.
 */

namespace java causeway.metastore
namespace py causeway_metastore

/** The location of an object's data in one cluster. */
struct ClusterStorageDescriptor {
  1: required string ClusterName,
  2: required string Location,
  /** Whether it has the object's present data. Read only. */
  3: optional bool UpToDate,
  /** The write up to which it has the data. If a client does not send it, it is the last one. */
  4: optional string WriteId
}

/**
 * The fields that StorageDescriptor gains. They are added to Hive's own structure:
 *
 *   struct StorageDescriptor {
 *     ... 1 to 12 as in Hive; `2: string location` is that of the client's cluster if it has a fresh
 *     copy, else the primary's ...
 *     101: optional ClusterStorageDescriptor PrimaryCluster,
 *     102: optional set<ClusterStorageDescriptor> SecondaryClusters
 *   }
 *
 * They are in replies to calls that name a cluster. If a client sends them back in an alter,
 * PrimaryCluster must be the object's present one (with a WriteId, the object must have that write
 * id), and SecondaryClusters replaces the object's copies.
 */
struct StorageDescriptorClusters {
  101: optional ClusterStorageDescriptor PrimaryCluster,
  102: optional set<ClusterStorageDescriptor> SecondaryClusters
}

exception MetaException {
  1: string message
}

/** The changes through the view since a position. */
struct Changes {
  /** The position for the next call. */
  1: i64 position,
  /** `db.table`, or `db.*` for a whole database. */
  2: list<string> tables,
  /** Any table may have changed: the caller is new, too late, or has another process's position. */
  3: bool everything,
  /** The id of the feed. Endpoints with the same id share it, so one of them has to be called. */
  4: string feed
}

service CausewayMetastore {
  /**
   * The next calls of this connection are made for that cluster, as after `USE CLUSTER name` (DC-U1).
   * The empty name means the endpoint's own cluster (DC-U2). An unknown name changes nothing.
   */
  void use_cluster(1: string name) throws (1: MetaException o1),

  /** The changes since `since`, at first 0. Waits up to `wait_ms` (at most 30 s) for a change. */
  Changes causeway_changes(1: i64 since, 2: i32 wait_ms),

  /** The same changes and the tables of causeway_settle, without waiting. It has other positions. */
  Changes causeway_touched(1: i64 since),

  /** Reports a change of the table that no view made: caches and followers forget the table. */
  void causeway_forget(1: string db_name, 2: string tbl_name),

  /**
   * Returns when the changes of the table that other clients have begun through this process have
   * ended. Changes that begin later read the facts that were written to the metastore before the
   * call, and causeway_touched returns the table.
   */
  void causeway_settle(1: string db_name, 2: string tbl_name),

  /**
   * The guard in the endpoint's cluster reports that Spark will write or has written. Makes the
   * copies stale of each object that the write may change: of the named table (tbl_name may be
   * empty), in the partitions that the static values `spec` select, and of every object whose folder
   * is at, below or above one of `paths`. `marks` are the ids of the proxy's writes to which the
   * statement belongs; the objects that these cover are left to the proxy. `id` names the running
   * write; `ended` is true in the last report of it. `by` names the writing process for operators.
   * `application` is the id of its Spark application: the write ends, too, when the cluster says
   * that this application has ended. Older guards send neither `id` nor `application`. The call is
   * refused if a path lies in the folder of an object or copy that the cluster may not write.
   */
  void causeway_write(1: string db_name, 2: string tbl_name, 3: map<string, string> spec,
    4: list<string> paths, 5: list<string> marks, 6: string id, 7: bool ended, 8: string by,
    9: string application) throws (1: MetaException o1)
  // causeway_by_cluster.thrift has a variant of each of Hive's calls that takes the cluster.
}
