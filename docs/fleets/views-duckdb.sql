-- The tables of an export in the folder `fleet`, for DuckDB. Job names stay text.
CREATE VIEW processes AS
SELECT * FROM read_parquet('fleet/processes/*/*.parquet', hive_types_autocast = false);
CREATE VIEW devices AS
SELECT * FROM read_parquet('fleet/devices/*/*.parquet', hive_types_autocast = false);
CREATE VIEW step_windows AS
SELECT * FROM read_parquet('fleet/step_windows/*/*.parquet', hive_types_autocast = false);
CREATE VIEW functions AS
SELECT * FROM read_parquet('fleet/functions/*/*.parquet', hive_types_autocast = false);
CREATE VIEW function_buckets AS
SELECT * FROM read_parquet('fleet/function_buckets/*/*.parquet', hive_types_autocast = false);
CREATE VIEW kernels AS
SELECT * FROM read_parquet('fleet/kernels/*/*.parquet', hive_types_autocast = false);
CREATE VIEW kernel_buckets AS
SELECT * FROM read_parquet('fleet/kernel_buckets/*/*.parquet', hive_types_autocast = false);
CREATE VIEW function_kernels AS
SELECT * FROM read_parquet('fleet/function_kernels/*/*.parquet', hive_types_autocast = false);
CREATE VIEW copies AS
SELECT * FROM read_parquet('fleet/copies/*/*.parquet', hive_types_autocast = false);
CREATE VIEW function_copies AS
SELECT * FROM read_parquet('fleet/function_copies/*/*.parquet', hive_types_autocast = false);
CREATE VIEW api_calls AS
SELECT * FROM read_parquet('fleet/api_calls/*/*.parquet', hive_types_autocast = false);
CREATE VIEW function_api_calls AS
SELECT * FROM read_parquet('fleet/function_api_calls/*/*.parquet', hive_types_autocast = false);
CREATE VIEW memory AS
SELECT * FROM read_parquet('fleet/memory/*/*.parquet', hive_types_autocast = false);
CREATE VIEW function_memory AS
SELECT * FROM read_parquet('fleet/function_memory/*/*.parquet', hive_types_autocast = false);
