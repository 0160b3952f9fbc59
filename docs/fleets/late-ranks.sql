-- The ranks that the others wait for in collectives of NCCL, the latest first. A collective ends when
-- the last rank has come, so that a late rank has less time in them than the median of all ranks; it
-- is listed from 5 % of its wall time. No rank is listed in a job whose ranks did not run the same
-- number of collectives.
WITH work AS (
    SELECT
        job, process,
        sum(CASE WHEN collective IN ('AllReduce', 'AllGather', 'ReduceScatter') THEN calls ELSE 0 END)
            AS calls,
        sum(CASE WHEN collective IN ('AllReduce', 'AllGather', 'ReduceScatter') THEN total_ns ELSE 0 END)
            AS collective_ns,
        sum(CASE WHEN collective IS NULL THEN total_ns ELSE 0 END) AS kernel_ns,
        count(collective) AS collectives
    FROM kernels
    GROUP BY job, process
),
copied AS (
    SELECT job, process, sum(total_ns) AS copy_ns
    FROM copies
    GROUP BY job, process
),
ordered AS (
    SELECT
        work.*,
        row_number() OVER (PARTITION BY job ORDER BY collective_ns) AS place,
        count(*) OVER (PARTITION BY job) AS processes,
        min(calls) OVER (PARTITION BY job) AS min_calls,
        max(calls) OVER (PARTITION BY job) AS max_calls
    FROM work
    WHERE collectives > 0
),
medians AS (
    SELECT job, collective_ns AS median_ns
    FROM ordered
    WHERE place = CAST(floor(processes / 2.0) AS BIGINT) + 1 AND min_calls = max_calls
)
SELECT
    job,
    processes.rank,
    processes.host,
    median_ns - collective_ns AS late_ns,
    collective_ns,
    kernel_ns + coalesce(copy_ns, 0) AS other_ns
FROM ordered
JOIN medians USING (job)
JOIN processes USING (job, process)
LEFT JOIN copied USING (job, process)
WHERE median_ns > collective_ns AND median_ns - collective_ns >= CAST(0.05 AS DOUBLE) * wall_ns
ORDER BY late_ns DESC, process
