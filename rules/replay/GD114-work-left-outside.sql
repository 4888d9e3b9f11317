-- SPDX-License-Identifier: Apache-2.0
-- rule: GD114 work-left-outside
-- title: Work silently left outside the captured graph
-- severity: error
-- impact: wrong
-- confidence: high
-- root: capture
-- needs: callbacks>=partial, launch_callbacks|comm_ops>=partial
-- why: While a stream captured, its thread put work on another stream that did not take part. That work was not
--   captured: it ran once, at capture time, on data that the capture never computed, and no replay will ever run it.
--   Nothing fails and nothing is printed; results are wrong. A collective lost like this lets the ranks drift apart.
-- fix: Make the other stream a member: record an event on the capturing stream and let the other one wait for
--   it before the work, and join it again before the end (side.wait_stream(torch.cuda.current_stream()), then the
--   reverse; cudaEventRecord and cudaStreamWaitEvent). Or run the operation on the capturing stream. If it must stay
--   eager, end the capture before it and begin a second graph after it.
-- source: CUDA programming guide, cross-stream dependencies of captures; spiriMirror/libuipc issue 472;
--   reproduced on an H200
-- message: {kind} {name:kernel}{more} on stream {stream} ran once while {region} was captured and is missing from its {replays:count replay}
SELECT l.process_id, l.start_ns, l.end_ns, l.step, l.thread_id, l.stack_id,
  l.capture_id AS root_id, l.capture_id, l.bytes AS cost_bytes,
  CASE l.kind WHEN 'comm' THEN 'collective' WHEN 'kernel' THEN 'kernel'
    WHEN 'memcpy' THEN 'copy' ELSE 'fill' END AS kind, l.name,
  CASE WHEN l.operations > 1
    THEN ' and ' || (l.operations - 1) || ' more' ELSE '' END AS more,
  COALESCE(l.stream_id, 'unknown') AS stream, l.replays_after AS replays,
  COALESCE('"' || c.range_path || '"', 'stream ' || c.stream_id) AS region,
  CASE WHEN l.kind IN ('kernel', 'comm') THEN 'high' ELSE 'medium' END
    AS confidence,
  'capture' AS evidence_table, l.capture_id AS evidence_id,
  'operations that ran once' AS ev1_label, l.operations AS ev1_value,
  'times in the capture' AS ev2_label, l.count AS ev2_value,
  'replays without it' AS ev3_label, l.replays_after AS ev3_value,
  'stream that captured' AS ev4_label, c.stream_id AS ev4_value,
  'first of them' AS ev5_label, l.name AS ev5_value
FROM (SELECT *, COUNT(*) OVER one AS operations,
    ROW_NUMBER() OVER (PARTITION BY process_id, capture_id
      ORDER BY kind <> 'comm', kind <> 'kernel', start_ns) AS place
  FROM capture_leak WHERE known AND in_warmup
  WINDOW one AS (PARTITION BY process_id, capture_id)) AS l
JOIN capture_outcome AS c USING (process_id, capture_id)
WHERE l.place = 1 AND c.state = 'ended_ok' AND l.replays_after > 0
ORDER BY l.process_id, l.capture_id;
-- test: fires for a collective, before a kernel of the same capture
INSERT INTO capture_outcome (process_id, capture_id, stream_id, state)
VALUES (1, 1, 7, 'ended_ok');
INSERT INTO capture_leak (process_id, capture_id, kind, name, stream_id, start_ns, stack_id, bytes,
  in_warmup, count, replays_after)
VALUES (1, 1, 'kernel', 'scale', 9, 10, 3, NULL, 1, 2, 1),
  (1, 1, 'memset', 'cuMemsetD8Async', 9, 5, 8, 64, 1, 2, 1),
  (1, 1, 'comm', 'all_reduce', 9, 20, 4, 4096, 1, 1, 1);
-- expect: collective all_reduce and 2 more on stream 9 ran once while stream 7 was captured and is missing from its 1 replay | stack_id=4 confidence=high cost_bytes=4096
-- test: fires for a kernel before a copy, and for a lone copy and fill with less confidence
INSERT INTO capture_outcome (process_id, capture_id, stream_id, state, range_path)
VALUES (1, 1, 7, 'ended_ok', 'step/cycle'),
  (1, 2, 7, 'ended_ok', NULL),
  (1, 3, 7, 'ended_ok', NULL);
INSERT INTO capture_leak (
  process_id, capture_id, kind, name, stream_id, start_ns, in_warmup, count,
  replays_after)
VALUES (1, 1, 'memcpy', 'cuMemcpyAsync', 9, 10, 1, 1, 5),
  (1, 1, 'kernel', 'scale', 9, 20, 1, 1, 5),
  (1, 2, 'memcpy', 'cuMemcpyAsync', 9, 10, 1, 1, 5),
  (1, 3, 'memset', 'cuMemsetD8Async', NULL, 10, 1, 1, 5);
-- expect: kernel scale and 1 more on stream 9 ran once while "step/cycle" was captured and is missing from its 5 replays | confidence=high
-- expect: copy cuMemcpyAsync on stream 9 ran once while stream 7 was captured and is missing from its 5 replays | confidence=medium
-- expect: fill cuMemsetD8Async on stream unknown ran once while stream 7 was captured and is missing from its 5 replays
-- test: quiet for what no eager iteration did before, for failed captures, unknown rows, and graphs never replayed
INSERT INTO capture_outcome (process_id, capture_id, stream_id, state)
VALUES (1, 1, 7, 'ended_ok'),
  (1, 2, 7, 'ended_error'),
  (1, 3, 7, 'ended_ok'),
  (1, 4, 7, 'ended_ok');
INSERT INTO capture_leak (process_id, capture_id, kind, name, in_warmup, replays_after, known)
VALUES (1, 1, 'kernel', 'seed', 0, 5, 1),
  (1, 2, 'kernel', 'scale', 1, 5, 1),
  (1, 3, 'kernel', '', 1, 5, 0),
  (1, 4, 'kernel', 'scale', 1, 0, 1);
-- expect: none
