-- How the total times of the ranks differ, and which rank is the slowest; the most time lost first.
-- A rank in which the function did not run counts with 0.
WITH times AS (
    SELECT
        job, module, function, file, line, namesake, rank, host, process,
        'cpu' AS kind, cpu_total_ns AS total_ns
    FROM functions
    WHERE calls > 0 OR open_calls > 0
    UNION ALL
    SELECT
        job, module, function, file, line, namesake, rank, host, process,
        'gpu' AS kind, gpu_total_ns AS total_ns
    FROM functions
    WHERE (calls > 0 OR open_calls > 0) AND gpu_total_ns IS NOT NULL
    UNION ALL
    SELECT
        job, module, function, file, line, namesake, rank, host, process,
        'busy' AS kind, busy_ns AS total_ns
    FROM functions
    WHERE (calls > 0 OR open_calls > 0) AND busy_ns IS NOT NULL
),
compared AS (
    SELECT
        *,
        count(*) OVER same_function AS ran,
        min(total_ns) OVER same_function AS min_ns,
        sum(total_ns) OVER same_function AS sum_ns,
        row_number() OVER (
            PARTITION BY job, module, function, file, line, namesake, kind
            ORDER BY total_ns DESC, process
        ) AS place
    FROM times
    WINDOW same_function AS (PARTITION BY job, module, function, file, line, namesake, kind)
),
jobs AS (
    SELECT job, count(*) AS processes
    FROM processes
    GROUP BY job
)
SELECT
    job, module, function, file, line, namesake, kind,
    ran,
    CASE WHEN ran < processes THEN 0 ELSE min_ns END AS min_ns,
    CAST(round(CAST(sum_ns AS DOUBLE) / processes) AS BIGINT) AS mean_ns,
    total_ns AS max_ns,
    CASE WHEN sum_ns > 0 THEN total_ns / (CAST(sum_ns AS DOUBLE) / processes) END AS imbalance,
    rank AS slowest_rank,
    host AS slowest_host
FROM compared
JOIN jobs USING (job)
WHERE place = 1
ORDER BY
    total_ns - CAST(sum_ns AS DOUBLE) / processes DESC,
    module, function, file, line, namesake, kind
