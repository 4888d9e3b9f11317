-- SPDX-License-Identifier: Apache-2.0
-- Raw tables that version 2 of the schema added. Files from 002 on hold whole tables and indexes only: a reader of an
-- older trace puts them, empty, beside its tables.

-- Kernel launches outside graphs while all launches were followed: from the start to the first replay.
CREATE TABLE eager_launch (
  process_id INTEGER NOT NULL, -- process
  launch_id INTEGER NOT NULL, -- numbered per process from 1, by time
  time_ns INTEGER NOT NULL, -- the launch call returned
  thread_id INTEGER NOT NULL, -- launching thread
  stream_id INTEGER, -- stream
  shape_id INTEGER NOT NULL, -- kernel name and launch shape
  scalar_set_id INTEGER, -- launch_scalar: what it passed by value; NULL nothing, or not readable
  range_path TEXT, -- enclosing ranges as outer/inner
  PRIMARY KEY (process_id, launch_id)
) STRICT;

-- Parameter words of eager launches that were no pointers, each set of them once.
CREATE TABLE launch_scalar (
  process_id INTEGER NOT NULL, -- process
  scalar_set_id INTEGER NOT NULL, -- numbered per process from 1
  param INTEGER NOT NULL, -- parameter index
  offset INTEGER NOT NULL, -- byte offset inside the parameter
  bytes INTEGER NOT NULL, -- 1 to 8
  value INTEGER NOT NULL -- the bytes, zero-extended, as a bit pattern
) STRICT;
