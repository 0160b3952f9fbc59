-- The ranks that the others wait for in collectives of NCCL in a part of the run alone, the
-- costliest first, with the steps of the part. Windows of steps are as wide as the widest of any
-- rank, and compared where all ranks have the same steps and collectives. A rank is late in a window
-- by what the median of all ranks has more time in collectives: by 5 % of the wall time, and by 8
-- times what ranks differ by in the median of this window and of all. A part is three windows and ten
-- steps in a row, or costs 5 % of the run; in the other windows the rank is at most half as late.
WITH ranks AS (
    SELECT job, count(DISTINCT process) AS processes
    FROM kernels
    WHERE collective IS NOT NULL
    GROUP BY job
),
widths AS (
    SELECT job, max(steps) AS width
    FROM step_windows
    GROUP BY job
),
joined AS (
    SELECT
        job, process,
        CAST(floor((first_step - 1) / width) AS BIGINT) AS number,
        min(first_step) AS first_step,
        sum(steps) AS steps,
        sum(wall_ns) AS wall_ns,
        sum(collectives) AS collectives,
        sum(collective_ns) AS collective_ns
    FROM step_windows
    JOIN widths USING (job)
    GROUP BY job, process, CAST(floor((first_step - 1) / width) AS BIGINT)
),
placed AS (
    SELECT
        joined.*,
        processes,
        CAST(floor(processes / 2.0) AS BIGINT) AS half,
        row_number() OVER (PARTITION BY job, number ORDER BY collective_ns, process) AS place,
        count(*) OVER (PARTITION BY job, number) AS ran,
        max(wall_ns) OVER (PARTITION BY job, number) AS longest_ns,
        max(steps) OVER (PARTITION BY job, number) - min(steps) OVER (PARTITION BY job, number)
            + max(collectives) OVER (PARTITION BY job, number)
            - min(collectives) OVER (PARTITION BY job, number) AS difference
    FROM joined
    JOIN ranks USING (job)
),
compared AS (
    SELECT *
    FROM placed
    WHERE processes > 1 AND ran = processes AND difference = 0 AND longest_ns > 0
),
medians AS (
    SELECT job, number, collective_ns AS median_ns
    FROM compared
    WHERE place = half + 1
),
shares AS (
    SELECT
        compared.*,
        median_ns - collective_ns AS late_ns,
        CAST(median_ns - collective_ns AS DOUBLE) / CAST(longest_ns AS DOUBLE) AS share,
        CASE WHEN place = half + 1 THEN 1 ELSE 0 END AS is_median
    FROM compared
    JOIN medians USING (job, number)
),
deviations AS (
    SELECT
        job, number, processes, half,
        abs(share) AS deviation,
        row_number() OVER (PARTITION BY job, number ORDER BY abs(share)) AS place_in_window,
        row_number() OVER (PARTITION BY job ORDER BY abs(share)) AS place_in_all,
        count(*) OVER (PARTITION BY job) AS deviations
    FROM shares
    WHERE is_median = 0
),
spreads AS (
    SELECT job, number, CASE WHEN processes > 2 THEN deviation ELSE 0 END AS spread
    FROM deviations
    WHERE place_in_window = half
),
usual AS (
    SELECT job, deviation AS usual
    FROM deviations
    WHERE place_in_all = CAST(floor((deviations + 1) / 2.0) AS BIGINT)
),
judged AS (
    SELECT
        shares.*,
        CASE
            WHEN share >= CAST(0.05 AS DOUBLE) AND share >= 8 * spread AND share >= 8 * usual THEN 1
            ELSE 0
        END AS is_late
    FROM shares
    JOIN spreads USING (job, number)
    JOIN usual USING (job)
),
runs AS (
    SELECT
        job, process,
        sum(collectives) AS collectives,
        CAST(sum(longest_ns) AS DOUBLE) AS run_ns,
        CAST(sum(CASE WHEN is_late = 0 THEN steps ELSE 0 END) AS DOUBLE) AS rest_steps,
        CAST(sum(CASE WHEN is_late = 0 THEN late_ns ELSE 0 END) AS DOUBLE) AS rest_ns
    FROM judged
    GROUP BY job, process
),
numbered AS (
    SELECT
        job, process, number, first_step, steps, late_ns,
        number - row_number() OVER (PARTITION BY job, process ORDER BY number) AS part
    FROM judged
    WHERE is_late = 1
),
parts AS (
    SELECT
        job, process,
        count(*) AS windows,
        min(first_step) AS first_step,
        min(first_step) + sum(steps) - 1 AS last_step,
        sum(steps) AS steps,
        sum(late_ns) AS late_ns
    FROM numbered
    GROUP BY job, process, part
)
SELECT job, processes.rank, processes.host, parts.first_step, last_step, late_ns
FROM parts
JOIN runs USING (job, process)
JOIN processes USING (job, process)
WHERE
    collectives >= 20
    AND rest_steps > 0
    AND (windows >= 3 AND steps >= 10 OR late_ns >= CAST(0.05 AS DOUBLE) * run_ns)
    AND rest_ns / rest_steps
        <= CAST(0.5 AS DOUBLE) * (CAST(late_ns AS DOUBLE) / CAST(steps AS DOUBLE))
ORDER BY late_ns DESC, process
