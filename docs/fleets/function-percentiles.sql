-- Percentiles of the calls of all ranks: of CPU times, of async functions, and of GPU spans.
WITH summed AS (
    SELECT
        job, module, function, file, line, namesake, kind, bucket, middle_ns,
        sum(calls) AS calls,
        min(min_ns) AS min_ns,
        max(max_ns) AS max_ns
    FROM function_buckets
    GROUP BY job, module, function, file, line, namesake, kind, bucket, middle_ns
),
counted AS (
    SELECT
        *,
        sum(calls) OVER (
            PARTITION BY job, module, function, file, line, namesake, kind ORDER BY bucket
        ) AS reached,
        sum(calls) OVER (
            PARTITION BY job, module, function, file, line, namesake, kind
        ) AS total
    FROM summed
),
middles AS (
    SELECT
        job, module, function, file, line, namesake, kind,
        min(min_ns) AS min_ns,
        max(max_ns) AS max_ns,
        min(CASE WHEN reached >= ceil(total * CAST(0.50 AS DOUBLE)) THEN middle_ns END) AS p50,
        min(CASE WHEN reached >= ceil(total * CAST(0.90 AS DOUBLE)) THEN middle_ns END) AS p90,
        min(CASE WHEN reached >= ceil(total * CAST(0.95 AS DOUBLE)) THEN middle_ns END) AS p95,
        min(CASE WHEN reached >= ceil(total * CAST(0.99 AS DOUBLE)) THEN middle_ns END) AS p99
    FROM counted
    GROUP BY job, module, function, file, line, namesake, kind
)
SELECT
    job, module, function, file, line, namesake, kind,
    greatest(least(p50, max_ns), min_ns) AS p50_ns,
    greatest(least(p90, max_ns), min_ns) AS p90_ns,
    greatest(least(p95, max_ns), min_ns) AS p95_ns,
    greatest(least(p99, max_ns), min_ns) AS p99_ns
FROM middles
ORDER BY job, module, function, file, line, namesake, kind
