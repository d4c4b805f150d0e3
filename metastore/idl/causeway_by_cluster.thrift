/**
 * Every call of Hive's service that takes the cluster beside its own arguments (DC-A2): it acts as
 * `use_cluster(cluster)` followed by the call. Hive's own IDL (2.3 or later) has to be beside this
 * file; tests compare the calls with the view's table.
 */

include "hive_metastore.thrift"
include "causeway_metastore.thrift"

namespace java causeway.metastore
namespace py causeway_by_cluster

service ByCluster extends causeway_metastore.CausewayMetastore {
  void abort_txn_on_cluster(
    1: hive_metastore.AbortTxnRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1),
  void abort_txns_on_cluster(
    1: hive_metastore.AbortTxnsRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1),
  void add_dynamic_partitions_on_cluster(
    1: hive_metastore.AddDynamicPartitions rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1, 2: hive_metastore.TxnAbortedException o2),
  void add_foreign_key_on_cluster(
    1: hive_metastore.AddForeignKeyRequest req,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.Index add_index_on_cluster(
    1: hive_metastore.Index new_index,
    2: hive_metastore.Table index_table,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  i32 add_master_key_on_cluster(
    1: string key,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.Partition add_partition_on_cluster(
    1: hive_metastore.Partition new_part,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.Partition add_partition_with_environment_context_on_cluster(
    1: hive_metastore.Partition new_part,
    2: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  i32 add_partitions_on_cluster(
    1: list<hive_metastore.Partition> new_parts,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  i32 add_partitions_pspec_on_cluster(
    1: list<hive_metastore.PartitionSpec> new_parts,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.AddPartitionsResult add_partitions_req_on_cluster(
    1: hive_metastore.AddPartitionsRequest request,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  void add_primary_key_on_cluster(
    1: hive_metastore.AddPrimaryKeyRequest req,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool add_token_on_cluster(
    1: string token_identifier,
    2: string delegation_token,
    100: string cluster
  ),
  void alter_database_on_cluster(
    1: string dbname,
    2: hive_metastore.Database db,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  void alter_function_on_cluster(
    1: string dbName,
    2: string funcName,
    3: hive_metastore.Function newFunc,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_index_on_cluster(
    1: string dbname,
    2: string base_tbl_name,
    3: string idx_name,
    4: hive_metastore.Index new_idx,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_partition_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: hive_metastore.Partition new_part,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_partition_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: hive_metastore.Partition new_part,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_partitions_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<hive_metastore.Partition> new_parts,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_partitions_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<hive_metastore.Partition> new_parts,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_table_on_cluster(
    1: string dbname,
    2: string tbl_name,
    3: hive_metastore.Table new_tbl,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_table_with_cascade_on_cluster(
    1: string dbname,
    2: string tbl_name,
    3: hive_metastore.Table new_tbl,
    4: bool cascade,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  void alter_table_with_environment_context_on_cluster(
    1: string dbname,
    2: string tbl_name,
    3: hive_metastore.Table new_tbl,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.Partition append_partition_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.Partition append_partition_by_name_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.Partition append_partition_by_name_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.Partition append_partition_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.InvalidObjectException o1, 2: hive_metastore.AlreadyExistsException o2, 3: hive_metastore.MetaException o3),
  hive_metastore.CacheFileMetadataResult cache_file_metadata_on_cluster(
    1: hive_metastore.CacheFileMetadataRequest req,
    100: string cluster
  ),
  void cancel_delegation_token_on_cluster(
    1: string token_str_form,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.LockResponse check_lock_on_cluster(
    1: hive_metastore.CheckLockRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1, 2: hive_metastore.TxnAbortedException o2, 3: hive_metastore.NoSuchLockException o3),
  hive_metastore.ClearFileMetadataResult clear_file_metadata_on_cluster(
    1: hive_metastore.ClearFileMetadataRequest req,
    100: string cluster
  ),
  void commit_txn_on_cluster(
    1: hive_metastore.CommitTxnRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1, 2: hive_metastore.TxnAbortedException o2),
  void compact_on_cluster(1: hive_metastore.CompactionRequest rqst, 100: string cluster),
  hive_metastore.CompactionResponse compact2_on_cluster(
    1: hive_metastore.CompactionRequest rqst,
    100: string cluster
  ),
  void create_database_on_cluster(
    1: hive_metastore.Database database,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3),
  void create_function_on_cluster(
    1: hive_metastore.Function func,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),
  bool create_role_on_cluster(
    1: hive_metastore.Role role,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  void create_table_on_cluster(
    1: hive_metastore.Table tbl,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),
  void create_table_with_constraints_on_cluster(
    1: hive_metastore.Table tbl,
    2: list<hive_metastore.SQLPrimaryKey> primaryKeys,
    3: list<hive_metastore.SQLForeignKey> foreignKeys,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),
  void create_table_with_environment_context_on_cluster(
    1: hive_metastore.Table tbl,
    2: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),
  bool create_type_on_cluster(
    1: hive_metastore.Type type,
    100: string cluster
  ) throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3),
  bool delete_partition_column_statistics_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    4: string col_name,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2, 3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidInputException o4),
  bool delete_table_column_statistics_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string col_name,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2, 3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidInputException o4),
  void drop_constraint_on_cluster(
    1: hive_metastore.DropConstraintRequest req,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  void drop_database_on_cluster(
    1: string name,
    2: bool deleteData,
    3: bool cascade,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.InvalidOperationException o2, 3: hive_metastore.MetaException o3),
  void drop_function_on_cluster(
    1: string dbName,
    2: string funcName,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_index_by_name_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string index_name,
    4: bool deleteData,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_partition_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: bool deleteData,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_partition_by_name_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    4: bool deleteData,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_partition_by_name_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    4: bool deleteData,
    5: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_partition_with_environment_context_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: bool deleteData,
    5: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.DropPartitionsResult drop_partitions_req_on_cluster(
    1: hive_metastore.DropPartitionsRequest req,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_role_on_cluster(
    1: string role_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  void drop_table_on_cluster(
    1: string dbname,
    2: string name,
    3: bool deleteData,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  void drop_table_with_environment_context_on_cluster(
    1: string dbname,
    2: string name,
    3: bool deleteData,
    4: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool drop_type_on_cluster(
    1: string type,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.Partition exchange_partition_on_cluster(
    1: map<string,string> partitionSpecs,
    2: string source_db,
    3: string source_table_name,
    4: string dest_db,
    5: string dest_table_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidInputException o4),
  list<hive_metastore.Partition> exchange_partitions_on_cluster(
    1: map<string,string> partitionSpecs,
    2: string source_db,
    3: string source_table_name,
    4: string dest_db,
    5: string dest_table_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidInputException o4),
  hive_metastore.FireEventResponse fire_listener_event_on_cluster(
    1: hive_metastore.FireEventRequest rqst,
    100: string cluster
  ),
  void flushCache_on_cluster(100: string cluster),
  string getMetaConf_on_cluster(
    1: string key,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.AggrStats get_aggr_stats_for_on_cluster(
    1: hive_metastore.PartitionsStatsRequest request,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<string> get_all_databases_on_cluster(
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.GetAllFunctionsResponse get_all_functions_on_cluster(
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_all_tables_on_cluster(
    1: string db_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_all_token_identifiers_on_cluster(100: string cluster),
  string get_config_value_on_cluster(
    1: string name,
    2: string defaultValue,
    100: string cluster
  ) throws (1: hive_metastore.ConfigValSecurityException o1),
  hive_metastore.CurrentNotificationEventId get_current_notificationEventId_on_cluster(
    100: string cluster
  ),
  hive_metastore.Database get_database_on_cluster(
    1: string name,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<string> get_databases_on_cluster(
    1: string pattern,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  string get_delegation_token_on_cluster(
    1: string token_owner,
    2: string renewer_kerberos_principal_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<hive_metastore.FieldSchema> get_fields_on_cluster(
    1: string db_name,
    2: string table_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.UnknownTableException o2, 3: hive_metastore.UnknownDBException o3),
  list<hive_metastore.FieldSchema> get_fields_with_environment_context_on_cluster(
    1: string db_name,
    2: string table_name,
    3: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.UnknownTableException o2, 3: hive_metastore.UnknownDBException o3),
  hive_metastore.GetFileMetadataResult get_file_metadata_on_cluster(
    1: hive_metastore.GetFileMetadataRequest req,
    100: string cluster
  ),
  hive_metastore.GetFileMetadataByExprResult get_file_metadata_by_expr_on_cluster(
    1: hive_metastore.GetFileMetadataByExprRequest req,
    100: string cluster
  ),
  hive_metastore.ForeignKeysResponse get_foreign_keys_on_cluster(
    1: hive_metastore.ForeignKeysRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.Function get_function_on_cluster(
    1: string dbName,
    2: string funcName,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<string> get_functions_on_cluster(
    1: string dbName,
    2: string pattern,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.Index get_index_by_name_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string index_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<string> get_index_names_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i16 max_indexes,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<hive_metastore.Index> get_indexes_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i16 max_indexes,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<string> get_master_keys_on_cluster(100: string cluster),
  hive_metastore.NotificationEventResponse get_next_notification_on_cluster(
    1: hive_metastore.NotificationEventRequest rqst,
    100: string cluster
  ),
  i32 get_num_partitions_by_filter_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string filter,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.GetOpenTxnsResponse get_open_txns_on_cluster(100: string cluster),
  hive_metastore.GetOpenTxnsInfoResponse get_open_txns_info_on_cluster(100: string cluster),
  list<hive_metastore.PartitionSpec> get_part_specs_by_filter_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string filter,
    4: i32 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.Partition get_partition_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.Partition get_partition_by_name_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.ColumnStatistics get_partition_column_statistics_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string part_name,
    4: string col_name,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2, 3: hive_metastore.InvalidInputException o3, 4: hive_metastore.InvalidObjectException o4),
  list<string> get_partition_names_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i16 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_partition_names_ps_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: i16 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.PartitionValuesResponse get_partition_values_on_cluster(
    1: hive_metastore.PartitionValuesRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.Partition get_partition_with_auth_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: string user_name,
    5: list<string> group_names,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<hive_metastore.Partition> get_partitions_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i16 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.PartitionsByExprResult get_partitions_by_expr_on_cluster(
    1: hive_metastore.PartitionsByExprRequest req,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<hive_metastore.Partition> get_partitions_by_filter_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string filter,
    4: i16 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<hive_metastore.Partition> get_partitions_by_names_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> names,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<hive_metastore.Partition> get_partitions_ps_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: i16 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  list<hive_metastore.Partition> get_partitions_ps_with_auth_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: i16 max_parts,
    5: string user_name,
    6: list<string> group_names,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<hive_metastore.PartitionSpec> get_partitions_pspec_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i32 max_parts,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.PartitionsStatsResult get_partitions_statistics_req_on_cluster(
    1: hive_metastore.PartitionsStatsRequest request,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<hive_metastore.Partition> get_partitions_with_auth_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: i16 max_parts,
    4: string user_name,
    5: list<string> group_names,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  hive_metastore.PrimaryKeysResponse get_primary_keys_on_cluster(
    1: hive_metastore.PrimaryKeysRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.GetPrincipalsInRoleResponse get_principals_in_role_on_cluster(
    1: hive_metastore.GetPrincipalsInRoleRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.PrincipalPrivilegeSet get_privilege_set_on_cluster(
    1: hive_metastore.HiveObjectRef hiveObject,
    2: string user_name,
    3: list<string> group_names,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.GetRoleGrantsForPrincipalResponse get_role_grants_for_principal_on_cluster(
    1: hive_metastore.GetRoleGrantsForPrincipalRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_role_names_on_cluster(
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<hive_metastore.FieldSchema> get_schema_on_cluster(
    1: string db_name,
    2: string table_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.UnknownTableException o2, 3: hive_metastore.UnknownDBException o3),
  list<hive_metastore.FieldSchema> get_schema_with_environment_context_on_cluster(
    1: string db_name,
    2: string table_name,
    3: hive_metastore.EnvironmentContext environment_context,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.UnknownTableException o2, 3: hive_metastore.UnknownDBException o3),
  hive_metastore.Table get_table_on_cluster(
    1: string dbname,
    2: string tbl_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.ColumnStatistics get_table_column_statistics_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: string col_name,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2, 3: hive_metastore.InvalidInputException o3, 4: hive_metastore.InvalidObjectException o4),
  list<hive_metastore.TableMeta> get_table_meta_on_cluster(
    1: string db_patterns,
    2: string tbl_patterns,
    3: list<string> tbl_types,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_table_names_by_filter_on_cluster(
    1: string dbname,
    2: string filter,
    3: i16 max_tables,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.InvalidOperationException o2, 3: hive_metastore.UnknownDBException o3),
  list<hive_metastore.Table> get_table_objects_by_name_on_cluster(
    1: string dbname,
    2: list<string> tbl_names,
    100: string cluster
  ),
  hive_metastore.GetTablesResult get_table_objects_by_name_req_on_cluster(
    1: hive_metastore.GetTablesRequest req,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.InvalidOperationException o2, 3: hive_metastore.UnknownDBException o3),
  hive_metastore.GetTableResult get_table_req_on_cluster(
    1: hive_metastore.GetTableRequest req,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  hive_metastore.TableStatsResult get_table_statistics_req_on_cluster(
    1: hive_metastore.TableStatsRequest request,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  list<string> get_tables_on_cluster(
    1: string db_name,
    2: string pattern,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> get_tables_by_type_on_cluster(
    1: string db_name,
    2: string pattern,
    3: string tableType,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  string get_token_on_cluster(1: string token_identifier, 100: string cluster),
  hive_metastore.Type get_type_on_cluster(
    1: string name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
  map<string,hive_metastore.Type> get_type_all_on_cluster(
    1: string name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  bool grant_privileges_on_cluster(
    1: hive_metastore.PrivilegeBag privileges,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.GrantRevokePrivilegeResponse grant_revoke_privileges_on_cluster(
    1: hive_metastore.GrantRevokePrivilegeRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.GrantRevokeRoleResponse grant_revoke_role_on_cluster(
    1: hive_metastore.GrantRevokeRoleRequest request,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  bool grant_role_on_cluster(
    1: string role_name,
    2: string principal_name,
    3: hive_metastore.PrincipalType principal_type,
    4: string grantor,
    5: hive_metastore.PrincipalType grantorType,
    6: bool grant_option,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  void heartbeat_on_cluster(
    1: hive_metastore.HeartbeatRequest ids,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchLockException o1, 2: hive_metastore.NoSuchTxnException o2, 3: hive_metastore.TxnAbortedException o3),
  hive_metastore.HeartbeatTxnRangeResponse heartbeat_txn_range_on_cluster(
    1: hive_metastore.HeartbeatTxnRangeRequest txns,
    100: string cluster
  ),
  bool isPartitionMarkedForEvent_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: map<string,string> part_vals,
    4: hive_metastore.PartitionEventType eventType,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: hive_metastore.UnknownDBException o3, 4: hive_metastore.UnknownTableException o4, 5: hive_metastore.UnknownPartitionException o5, 6: hive_metastore.InvalidPartitionException o6),
  list<hive_metastore.HiveObjectPrivilege> list_privileges_on_cluster(
    1: string principal_name,
    2: hive_metastore.PrincipalType principal_type,
    3: hive_metastore.HiveObjectRef hiveObject,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<hive_metastore.Role> list_roles_on_cluster(
    1: string principal_name,
    2: hive_metastore.PrincipalType principal_type,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.LockResponse lock_on_cluster(
    1: hive_metastore.LockRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchTxnException o1, 2: hive_metastore.TxnAbortedException o2),
  void markPartitionForEvent_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: map<string,string> part_vals,
    4: hive_metastore.PartitionEventType eventType,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: hive_metastore.UnknownDBException o3, 4: hive_metastore.UnknownTableException o4, 5: hive_metastore.UnknownPartitionException o5, 6: hive_metastore.InvalidPartitionException o6),
  hive_metastore.OpenTxnsResponse open_txns_on_cluster(
    1: hive_metastore.OpenTxnRequest rqst,
    100: string cluster
  ),
  bool partition_name_has_valid_characters_on_cluster(
    1: list<string> part_vals,
    2: bool throw_exception,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  map<string,string> partition_name_to_spec_on_cluster(
    1: string part_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  list<string> partition_name_to_vals_on_cluster(
    1: string part_name,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.PutFileMetadataResult put_file_metadata_on_cluster(
    1: hive_metastore.PutFileMetadataRequest req,
    100: string cluster
  ),
  bool remove_master_key_on_cluster(1: i32 key_seq, 100: string cluster),
  bool remove_token_on_cluster(1: string token_identifier, 100: string cluster),
  void rename_partition_on_cluster(
    1: string db_name,
    2: string tbl_name,
    3: list<string> part_vals,
    4: hive_metastore.Partition new_part,
    100: string cluster
  ) throws (1: hive_metastore.InvalidOperationException o1, 2: hive_metastore.MetaException o2),
  i64 renew_delegation_token_on_cluster(
    1: string token_str_form,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  bool revoke_privileges_on_cluster(
    1: hive_metastore.PrivilegeBag privileges,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  bool revoke_role_on_cluster(
    1: string role_name,
    2: string principal_name,
    3: hive_metastore.PrincipalType principal_type,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  void setMetaConf_on_cluster(
    1: string key,
    2: string value,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  bool set_aggr_stats_for_on_cluster(
    1: hive_metastore.SetPartitionsStatsRequest request,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.InvalidInputException o4),
  list<string> set_ugi_on_cluster(
    1: string user_name,
    2: list<string> group_names,
    100: string cluster
  ) throws (1: hive_metastore.MetaException o1),
  hive_metastore.ShowCompactResponse show_compact_on_cluster(
    1: hive_metastore.ShowCompactRequest rqst,
    100: string cluster
  ),
  hive_metastore.ShowLocksResponse show_locks_on_cluster(
    1: hive_metastore.ShowLocksRequest rqst,
    100: string cluster
  ),
  void unlock_on_cluster(
    1: hive_metastore.UnlockRequest rqst,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchLockException o1, 2: hive_metastore.TxnOpenException o2),
  void update_master_key_on_cluster(
    1: i32 seq_number,
    2: string key,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.MetaException o2),
  bool update_partition_column_statistics_on_cluster(
    1: hive_metastore.ColumnStatistics stats_obj,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.InvalidInputException o4),
  bool update_table_column_statistics_on_cluster(
    1: hive_metastore.ColumnStatistics stats_obj,
    100: string cluster
  ) throws (1: hive_metastore.NoSuchObjectException o1, 2: hive_metastore.InvalidObjectException o2, 3: hive_metastore.MetaException o3, 4: hive_metastore.InvalidInputException o4)
}
