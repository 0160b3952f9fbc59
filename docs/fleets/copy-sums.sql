-- Copies and memsets of each direction over all ranks, with their sizes, the most time first.
SELECT
    job, kind,
    sum(calls) AS calls,
    sum(total_ns) AS total_ns,
    sum(bytes) AS bytes,
    sum(pageable_ns) AS pageable_ns
FROM copies
GROUP BY job, kind
ORDER BY total_ns DESC, kind
