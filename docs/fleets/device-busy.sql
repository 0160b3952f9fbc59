-- How busy each device was while a process used it, the least busy first. A device without a uuid of
-- its own is known by its host and its number there.
SELECT
    job, uuid, device_name,
    CASE WHEN uuid = '' OR simulated THEN devices.host END AS only_host,
    CASE WHEN uuid = '' OR simulated THEN device END AS only_device,
    min(devices.rank) AS first_rank,
    min(devices.host) AS first_host,
    sum(busy_ns) AS busy_ns,
    sum(busy_ns) / CAST(sum(wall_ns) AS DOUBLE) AS busy_share
FROM devices
JOIN processes USING (job, process)
WHERE busy_ns IS NOT NULL
GROUP BY 1, 2, 3, 4, 5
ORDER BY busy_share, uuid, first_rank
