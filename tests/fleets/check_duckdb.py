"""Runs the queries of docs/fleets in DuckDB and compares each figure with `gpuprof merge`.

Usage: check_duckdb.py WORK DOCS, where WORK has the folder `fleet` and the file `job.json`.
"""

import os
import sys
import time
from pathlib import Path

import duckdb

from expected import QUERIES, compare, expected, late_finding


def main(work: Path, docs: Path) -> int:
    failed = 0
    os.chdir(work)
    engine = duckdb.connect()
    print(f"DuckDB {duckdb.__version__}")
    engine.execute((docs / "views-duckdb.sql").read_text())
    merged = expected(work / "job.json")
    try:
        print(f"ok gpuprof merge: {late_finding(work / 'job.json')}")
    except AssertionError as error:
        failed += 1
        print(f"FAILED gpuprof merge: {error}")
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
    groups = engine.execute(
        "SELECT CAST(stats_min AS BIGINT), CAST(stats_max AS BIGINT) "
        "FROM parquet_metadata('fleet/function_buckets/*/*.parquet') "
        "WHERE path_in_schema = 'rank' ORDER BY row_group_id"
    ).fetchall()
    # A rank may begin in one group and end in the next.
    disjoint = all(before[1] <= group[0] for before, group in zip(groups, groups[1:]))
    good = len(groups) > 1 and disjoint
    print(f"{'ok' if good else 'FAILED'} function_buckets: row groups of the ranks {groups}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
