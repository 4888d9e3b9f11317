// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::raw {

// Names inside a spool folder `<spool>/graphdoctor-<uid>/<job key>/` (mode 0700, owner checked):
//   control                              the control page
//   <host>.<pid>.<start>.<random>.seg    one segment file a process: its history lane; the part before ".seg"
//                                        is the segment stem
//   <segment stem>.<number>.<since>.events   its event lane, in pieces numbered from 0; <since> is the latest
//                                        time (CLOCK_MONOTONIC ns) of anything in earlier pieces. Pieces are
//                                        removed oldest first, so the name of the first one that is there
//                                        says from when on events are complete.
// and on tmpfs `<tmpfs>/graphdoctor-<uid>/<segment stem>.ring`.
// <start> is the process's start in CLOCK_MONOTONIC ns, <random> 16 hex digits = ChunkHeader::processKey.
inline constexpr char kFolderPrefix[] = "graphdoctor-";
inline constexpr char kSegmentSuffix[] = ".seg";
inline constexpr char kEventsSuffix[] = ".events";
inline constexpr char kRingSuffix[] = ".ring";

// Environment of the injected library, set by `graphdoctor run`.
inline constexpr char kEnvSpool[]
    = "GRAPHDOCTOR_SPOOL"; ///< the spool folder; absent: the collector stays idle
inline constexpr char kEnvTool[] = "GRAPHDOCTOR_TOOL64_PATH"; ///< the collector, for host runtimes
inline constexpr char kEnvLevel[] = "GRAPHDOCTOR_LEVEL"; ///< used when there is no control page
inline constexpr char kEnvRingBytes[] = "GRAPHDOCTOR_RING_BYTES"; ///< ring size a process, default 16 MiB
inline constexpr char kEnvStepRange[]
    = "GRAPHDOCTOR_STEP_RANGE"; ///< --step-range: matching ranges go to history
inline constexpr char kEnvWindow[]
    = "GRAPHDOCTOR_WINDOW"; ///< "delay=NS,duration=NS" (either alone), "steps=A:B" (inclusive; B may lack)
                            ///< or "range": while a range that matches kEnvWindowRange is open
inline constexpr char kEnvWindowRange[] = "GRAPHDOCTOR_WINDOW_RANGE"; ///< --window: a POSIX pattern
inline constexpr char kEnvOverhead[]
    = "GRAPHDOCTOR_OVERHEAD"; ///< --measure-overhead: nanoseconds of a stretch without device activity
inline constexpr char kEnvLimits[]
    = "GRAPHDOCTOR_LIMITS"; ///< "size=BYTES,keep=BYTES,keep_ns=NS" a process, each may lack: history and
                            ///< events together; the latest events that are kept, by size and by time
inline constexpr char kEnvParentHost[] = "GRAPHDOCTOR_PARENT_HOST"; ///< host of `graphdoctor run`
inline constexpr char kEnvRemoteSpool[]
    = "GRAPHDOCTOR_REMOTE_SPOOL"; ///< <output>.spool, for processes elsewhere
inline constexpr char kEnvPollMs[]
    = "GRAPHDOCTOR_POLL_MS"; ///< test use: how often the control page is read, default 50
inline constexpr char kEnvFrameworkHooks[]
    = "GRAPHDOCTOR_FRAMEWORK_HOOKS"; ///< --framework-hooks: "auto" or "off", for the entry on PYTHONPATH
inline constexpr char kEnvWithProfiler[]
    = "GRAPHDOCTOR_WITH_PROFILER"; ///< --with-profiler: "yield" or "keep", for the entry on PYTHONPATH
inline constexpr char kEnvCupti[] = "GRAPHDOCTOR_CUPTI"; ///< test use: path of the libcupti to load

} // namespace gd::raw
