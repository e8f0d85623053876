-- From the views membership_snapshots, route_snapshots and offset_snapshots to the tables intervals, allocations and
-- progress. Variables: run_start, run_end, observed_from (run_start less the warm-up), read_from, max_gap, step.

-- One row per snapshot that begins something new of its key, and the key's last one. Lists stay in their files: the
-- window sorts keys, times and hashes only.
CREATE OR REPLACE TEMP TABLE member_changes AS
SELECT cluster, consumer_group, broker_name, captured_at, hash(connections, subscriptions, message_model) AS print,
       lag(captured_at) OVER in_order AS previous_at,
       previous_at IS NULL OR lag(print) OVER in_order <> print
         OR previous_at + getvariable('max_gap') < captured_at AS starts
FROM membership_snapshots
WHERE captured_at >= getvariable('read_from') AND captured_at < getvariable('run_end')
WINDOW in_order AS (PARTITION BY cluster, consumer_group, broker_name ORDER BY captured_at)
QUALIFY starts OR lead(captured_at) OVER in_order IS NULL;

CREATE OR REPLACE TEMP TABLE route_changes AS
SELECT cluster, topic, captured_at, hash(queues) AS print,
       lag(captured_at) OVER in_order AS previous_at,
       previous_at IS NULL OR lag(print) OVER in_order <> print
         OR previous_at + getvariable('max_gap') < captured_at AS starts
FROM route_snapshots
WHERE captured_at >= getvariable('read_from') AND captured_at < getvariable('run_end')
WINDOW in_order AS (PARTITION BY cluster, topic ORDER BY captured_at)
QUALIFY starts OR lead(captured_at) OVER in_order IS NULL;

-- One row per span in which a key showed the same: it holds until the next one begins, no longer than max_gap after it
-- was last seen.
CREATE OR REPLACE TEMP TABLE member_spans AS
WITH spans AS (
  SELECT cluster, consumer_group, broker_name, captured_at,
         lead(captured_at) OVER in_order AS next_at,
         lead(starts) OVER in_order AS next_starts,
         CASE WHEN next_starts THEN lead(previous_at) OVER in_order ELSE coalesce(next_at, captured_at) END AS seen_at
  FROM member_changes
  WINDOW in_order AS (PARTITION BY cluster, consumer_group, broker_name ORDER BY captured_at)
  QUALIFY starts
)
SELECT cluster, consumer_group, broker_name, captured_at AS start_at,
       least(CASE WHEN next_starts THEN next_at END, seen_at + getvariable('max_gap'), getvariable('run_end')) AS end_at,
       list_sort([{'client_id': c.client_id, 'client_addr': c.client_addr} FOR c IN connections]) AS members,
       [m.client_id FOR m IN members] AS ids,
       [s.topic FOR s IN subscriptions] AS topics
FROM spans JOIN membership_snapshots USING (cluster, consumer_group, broker_name, captured_at);

CREATE OR REPLACE TEMP TABLE route_spans AS
WITH spans AS (
  SELECT cluster, topic, captured_at,
         lead(captured_at) OVER in_order AS next_at,
         lead(starts) OVER in_order AS next_starts,
         CASE WHEN next_starts THEN lead(previous_at) OVER in_order ELSE coalesce(next_at, captured_at) END AS seen_at
  FROM route_changes
  WINDOW in_order AS (PARTITION BY cluster, topic ORDER BY captured_at)
  QUALIFY starts
)
SELECT cluster, topic, captured_at AS start_at,
       least(CASE WHEN next_starts THEN next_at END, seen_at + getvariable('max_gap'), getvariable('run_end')) AS end_at,
       queues[1].broker_name AS broker_name,
       flatten([[{'broker_name': q.broker_name, 'queue_id': i::INTEGER} FOR i IN range(q.read_queue_nums)]
                FOR q IN list_sort(queues) IF q.perm & 4 <> 0]) AS queues
FROM spans JOIN route_snapshots USING (cluster, topic, captured_at);

CREATE OR REPLACE TEMP TABLE group_topics AS
SELECT DISTINCT cluster, consumer_group, unnest(topics) AS topic FROM member_spans
UNION
SELECT DISTINCT cluster, consumer_group, topic FROM offset_snapshots
WHERE captured_at >= getvariable('read_from') AND captured_at < getvariable('run_end');

-- One row per (group, topic, moment at which an input of the allocation may have changed).
CREATE OR REPLACE TEMP TABLE points AS
SELECT * FROM (
  SELECT *, getvariable('observed_from') AS moment FROM group_topics
  UNION
  SELECT group_topics.*, unnest([start_at, end_at]) AS moment FROM group_topics
  JOIN member_spans USING (cluster, consumer_group)
  UNION
  SELECT group_topics.*, unnest([start_at, end_at]) AS moment FROM group_topics JOIN route_spans USING (cluster, topic)
)
WHERE moment >= getvariable('observed_from') AND moment < getvariable('run_end');

-- One row per (group, topic, step, interval in which client ids and queues stayed the same).
CREATE OR REPLACE TEMP TABLE intervals AS
WITH routed AS (
  SELECT p.*, CASE WHEN p.moment < r.end_at THEN r.queues END AS queues, r.broker_name
  FROM points p ASOF LEFT JOIN route_spans r ON p.cluster = r.cluster AND p.topic = r.topic AND p.moment >= r.start_at
), known AS (
  SELECT r.*, CASE WHEN r.moment < m.end_at AND r.queues IS NOT NULL THEN m.members END AS members,
         CASE WHEN r.moment < m.end_at AND r.queues IS NOT NULL THEN m.ids END AS ids
  FROM routed r ASOF LEFT JOIN member_spans m
    ON r.cluster = m.cluster AND r.consumer_group = m.consumer_group AND r.broker_name = m.broker_name
    AND r.moment >= m.start_at
), states AS (
  SELECT *, CASE WHEN queues IS NULL THEN 'NO_ROUTE_SNAPSHOT' WHEN members IS NULL THEN 'NO_MEMBERSHIP_SNAPSHOT' END
            AS reason,
         CASE WHEN reason IS NULL THEN hash(ids, queues) ELSE hash(reason) END AS state
  FROM known
), merged AS (
  SELECT * FROM states
  QUALIFY (lag(state) OVER (PARTITION BY cluster, consumer_group, topic ORDER BY moment)) IS DISTINCT FROM state
), ended AS (
  SELECT *, coalesce(lead(moment) OVER (PARTITION BY cluster, consumer_group, topic ORDER BY moment), getvariable('run_end'))
            AS until
  FROM merged
), cut AS (
  SELECT *, unnest(range(greatest(time_bucket(getvariable('step'), moment), getvariable('run_start')), until,
                         getvariable('step'))) AS step_start
  FROM ended
)
SELECT row_number() OVER () AS id, step_start, cluster, consumer_group, topic, greatest(moment, step_start) AS interval_start,
       least(until, step_start + getvariable('step')) AS interval_end, reason, members, ids, queues
FROM cut;

-- One row per (replayed interval, queue), by AllocateMessageQueueAveragely: of twins only the first position of the
-- client id computes a share, and all of them consume it.
CREATE OR REPLACE TEMP TABLE allocations AS
WITH ranked AS (
  SELECT id, members, ids, len(ids) AS n, len(queues) AS q, unnest(queues) AS queue,
         generate_subscripts(queues, 1) - 1 AS rank, q // n AS base, q % n AS longer
  FROM intervals WHERE reason IS NULL
), placed AS (
  SELECT *, CASE WHEN q <= n THEN rank WHEN rank < longer * (base + 1) THEN rank // (base + 1)
                 ELSE longer + (rank - longer * (base + 1)) // base END AS position,
         ids[position + 1] AS client_id
  FROM ranked
)
SELECT id, queue.broker_name, queue.queue_id,
       CASE WHEN list_position(ids, client_id) = position + 1 THEN [m FOR m IN members IF m.client_id = client_id]
            ELSE [] END AS owners
FROM placed;

-- One row per (replayed interval, queue): its readings, and the lags of those that know the consumer's offset.
CREATE OR REPLACE TEMP TABLE progress AS
WITH snapshots AS (
  SELECT cluster, consumer_group, topic, captured_at, time_bucket(getvariable('step'), captured_at) AS step_start,
         offsets
  FROM offset_snapshots
  WHERE captured_at >= getvariable('run_start') AND captured_at < getvariable('run_end')
), readings AS (
  SELECT i.id, s.captured_at, unnest(s.offsets) AS reading
  FROM snapshots s JOIN (SELECT * FROM intervals WHERE reason IS NULL) i
    ON s.cluster = i.cluster AND s.consumer_group = i.consumer_group AND s.topic = i.topic
    AND s.step_start = i.step_start AND s.captured_at >= i.interval_start AND s.captured_at < i.interval_end
), lags AS (
  SELECT id, captured_at, reading.broker_name AS broker_name, reading.queue_id AS queue_id,
         CASE WHEN reading.consumer_offset <> 0 OR coalesce(reading.last_timestamp, 0) <> 0 OR reading.broker_offset = 0
              THEN CASE WHEN reading.broker_offset > reading.consumer_offset
                        THEN reading.broker_offset - reading.consumer_offset
                        WHEN reading.broker_offset <= reading.consumer_offset THEN 0 END END AS lag
  FROM readings
), summed AS (
  SELECT id, broker_name, queue_id, count(*) AS readings, arg_min_null(lag, captured_at) AS lag_first,
         arg_max_null(lag, captured_at) AS lag_last, max(lag) AS lag_max, sum(lag) AS lag_sum
  FROM lags GROUP BY ALL
)
SELECT id, broker_name, queue_id, coalesce(readings, 0) AS readings, lag_first, lag_last, lag_max, lag_sum
FROM allocations LEFT JOIN summed USING (id, broker_name, queue_id);
