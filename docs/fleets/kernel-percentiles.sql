-- Percentiles of the launches of each kernel on each model of device over all ranks.
WITH summed AS (
    SELECT
        job, symbol, device_name, multiprocessors, bucket, middle_ns,
        sum(calls) AS calls,
        min(min_ns) AS min_ns,
        max(max_ns) AS max_ns
    FROM kernel_buckets
    GROUP BY job, symbol, device_name, multiprocessors, bucket, middle_ns
),
counted AS (
    SELECT
        *,
        sum(calls) OVER (
            PARTITION BY job, symbol, device_name, multiprocessors ORDER BY bucket
        ) AS reached,
        sum(calls) OVER (PARTITION BY job, symbol, device_name, multiprocessors) AS total
    FROM summed
),
middles AS (
    SELECT
        job, symbol, device_name, multiprocessors,
        min(min_ns) AS min_ns,
        max(max_ns) AS max_ns,
        min(CASE WHEN reached >= ceil(total * CAST(0.50 AS DOUBLE)) THEN middle_ns END) AS p50,
        min(CASE WHEN reached >= ceil(total * CAST(0.99 AS DOUBLE)) THEN middle_ns END) AS p99
    FROM counted
    GROUP BY job, symbol, device_name, multiprocessors
)
SELECT
    job, symbol, device_name, multiprocessors,
    greatest(least(p50, max_ns), min_ns) AS p50_ns,
    greatest(least(p99, max_ns), min_ns) AS p99_ns
FROM middles
ORDER BY job, symbol, device_name, multiprocessors
