"""Runs the queries of docs/fleets in DuckDB and compares each figure with `gpuprof merge`.

Usage: check_duckdb.py WORK DOCS, where WORK has the folder `fleet` and the file `job.json`.
"""

import os
import sys
import time
from pathlib import Path

import duckdb

from expected import QUERIES, compare, expected


def main(work: Path, docs: Path) -> int:
    failed = 0
    os.chdir(work)
    engine = duckdb.connect()
    print(f"DuckDB {duckdb.__version__}")
    engine.execute((docs / "views-duckdb.sql").read_text())
    merged = expected(work / "job.json")
    for query in QUERIES:
        start = time.monotonic()
        result = engine.execute((docs / f"{query}.sql").read_text())
        names = [column[0] for column in result.description]
        rows = [dict(zip(names, row)) for row in result.fetchall()]
        seconds = time.monotonic() - start
        try:
            print(f"ok {query}: {compare(query, rows, merged[query])}, in {seconds:.2f} s")
        except AssertionError as error:
            failed += 1
            print(f"FAILED {error}")
    failed += pruned(engine)
    return 1 if failed else 0


def pruned(engine: duckdb.DuckDBPyConnection) -> int:
    """The rows are sorted by rank, and so the row groups of a rank are few."""
    unsorted = engine.execute(
        "SELECT count(*) FROM (SELECT rank, lag(rank) OVER (ORDER BY file_row_number) AS before "
        "FROM read_parquet('fleet/function_buckets/*/*.parquet', file_row_number = true)) "
        "WHERE before > rank"
    ).fetchone()[0]
    print(f"{'FAILED' if unsorted else 'ok'} function_buckets: {unsorted} ranks out of order")
    return int(unsorted > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
