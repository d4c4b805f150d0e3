-- The parameters are named after the process's input and output.
INSERT OVERWRITE TABLE ${output_database}.${output_table}
PARTITION (${falcon_output_partitions_hive})
SELECT id, value FROM ${input_database}.${input_table} WHERE ${input_filter};
