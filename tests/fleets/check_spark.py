"""Runs the queries of docs/fleets in Spark, on several workers of this machine, and compares each
figure with `gpuprof merge`.

Usage: check_spark.py WORK DOCS MASTER, where WORK has the folder `fleet` and the file `job.json`,
and MASTER is such as `local-cluster[2,1,1024]`.
"""

import sys
import time
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from expected import QUERIES, compare, expected, late_finding

TABLES = (
    "processes", "devices", "step_windows", "functions", "function_buckets", "kernels",
    "kernel_buckets", "function_kernels", "copies", "function_copies", "api_calls",
    "function_api_calls", "memory", "function_memory",
)

SETTINGS = {
    # Job names stay text.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # As many as one machine has cores, or a few more.
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(work: Path, docs: Path, master: str) -> int:
    failed = 0
    builder = SparkSession.builder.master(master).appName("fleets")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(f"Spark {pyspark.__version__}, {master}")
    for table in TABLES:
        spark.read.parquet(str(work / "fleet" / table)).createOrReplaceTempView(table)
    merged = expected(work / "job.json")
    try:
        print(f"ok gpuprof merge: {late_finding(work / 'job.json')}")
    except AssertionError as error:
        failed += 1
        print(f"FAILED gpuprof merge: {error}")
    for query in QUERIES:
        start = time.monotonic()
        rows = [row.asDict() for row in spark.sql((docs / f"{query}.sql").read_text()).collect()]
        seconds = time.monotonic() - start
        try:
            print(f"ok {query}: {compare(query, rows, merged[query])}, in {seconds:.2f} s")
        except AssertionError as error:
            failed += 1
            print(f"FAILED {error}")
    hosts = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(f"{hosts} executors")
    spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]))
