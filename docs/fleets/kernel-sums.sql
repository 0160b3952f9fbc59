-- Launches and GPU times of each kernel on each model of device over all ranks, the most time
-- first.
SELECT
    job, symbol, device_name, multiprocessors,
    sum(calls) AS calls,
    sum(total_ns) AS total_ns,
    min(min_ns) AS min_ns,
    max(max_ns) AS max_ns
FROM kernels
GROUP BY job, symbol, device_name, multiprocessors
ORDER BY total_ns DESC, symbol, device_name, multiprocessors
