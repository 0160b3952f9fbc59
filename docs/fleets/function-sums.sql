-- Calls and times of each function over all ranks, the most GPU time first.
SELECT
    job, module, function, file, line, namesake,
    sum(calls) AS calls,
    sum(cpu_total_ns) AS cpu_total_ns,
    min(cpu_min_ns) AS cpu_min_ns,
    max(cpu_max_ns) AS cpu_max_ns,
    sum(gpu_timed_calls) AS gpu_timed_calls,
    sum(gpu_total_ns) AS gpu_total_ns,
    min(gpu_min_ns) AS gpu_min_ns,
    max(gpu_max_ns) AS gpu_max_ns,
    sum(busy_ns) AS busy_ns
FROM functions
GROUP BY job, module, function, file, line, namesake
ORDER BY gpu_total_ns DESC NULLS LAST, module, function, file, line, namesake
