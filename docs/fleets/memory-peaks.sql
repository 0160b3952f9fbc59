-- The memory of each kind over all ranks, and the rank with the highest peak of it.
WITH placed AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY job, kind ORDER BY peak_bytes DESC, process) AS place,
        sum(allocations) OVER (PARTITION BY job, kind) AS all_allocations,
        sum(allocated_bytes) OVER (PARTITION BY job, kind) AS all_allocated_bytes,
        sum(live_bytes) OVER (PARTITION BY job, kind) AS all_live_bytes
    FROM memory
)
SELECT
    job, kind,
    all_allocations AS allocations,
    all_allocated_bytes AS allocated_bytes,
    all_live_bytes AS live_bytes,
    peak_bytes, rank AS peak_rank, host AS peak_host, peak_function
FROM placed
WHERE place = 1
ORDER BY peak_bytes DESC, kind
