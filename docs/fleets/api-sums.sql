-- Calls of each CUDA function over all ranks and their CPU time, the most time first.
SELECT
    job, api,
    sum(calls) AS calls,
    sum(total_ns) AS total_ns,
    min(min_ns) AS min_ns,
    max(max_ns) AS max_ns,
    sum(failed) AS failed
FROM api_calls
GROUP BY job, api
ORDER BY total_ns DESC, api
