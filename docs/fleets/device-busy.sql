-- How busy each device was, the least busy first.
SELECT
    job, uuid, device_name,
    min(devices.rank) AS first_rank,
    min(devices.host) AS host,
    sum(busy_ns) AS busy_ns,
    sum(busy_ns) / CAST(max(wall_ns) AS DOUBLE) AS busy_share
FROM devices
JOIN processes USING (job, process)
GROUP BY job, uuid, device_name
ORDER BY busy_share, uuid
