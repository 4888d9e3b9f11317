// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/raw_reader.h"

#include "analyzer/facts/names.h"

#include <algorithm>

namespace gd::facts {
namespace {

CoverageState coverageStateFrom(std::string_view word) {
    return word == "complete" ? CoverageState::complete
        : word == "partial"   ? CoverageState::partial
                              : CoverageState::absent;
}

std::int32_t int32(const Statement& row, int column) {
    return static_cast<std::int32_t>(row.int64(column));
}

std::int16_t deviceOr(const Statement& row, int column, std::int16_t otherwise) {
    return row.isNull(column) ? otherwise : static_cast<std::int16_t>(row.int64(column));
}

} // namespace

Result<void> RawReader::eachRow(std::string_view sql, const Row& row) {
    GD_TRY_ASSIGN(auto select, m_db.prepare(sql));
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return {};
        row(select);
    }
}

ProcessData* RawReader::process(std::int64_t id) {
    const auto found = m_processIndex.find(id);
    return found == m_processIndex.end() ? nullptr : &m_data.processes[found->second];
}

Result<RawData> RawReader::read() {
    GD_TRY(readProcesses());
    GD_TRY(readNames());
    GD_TRY(readCoverage());
    GD_TRY(readTracks());
    GD_TRY(readCalls());
    GD_TRY(readOps());
    GD_TRY(readReplays());
    GD_TRY(readRanges());
    GD_TRY(readGraphs());
    GD_TRY(readNodes());
    GD_TRY(readCaptures());
    GD_TRY(readMemory());
    GD_TRY(readCommunication());
    finish();
    return std::move(m_data);
}

Result<void> RawReader::readProcesses() {
    GD_TRY(eachRow("SELECT process_id, start_ns, end_ns, ended, runtime, exit_status, host FROM process "
                   "ORDER BY process_id",
        [&](Statement& row) {
            m_processIndex[row.int64(0)] = m_data.processes.size();
            ProcessData& data = m_data.processes.emplace_back();
            data.processId = row.int64(0);
            data.startNs = row.int64(1);
            data.endNs = row.int64(2);
            // One that left by _exit() or os._exit() says no goodbye, but its status is known; the status of
            // a killed one is not.
            data.endedClosed = row.text(3) == "closed" || !row.isNull(5);
            data.isCuda = row.text(4) == "cuda";
            data.host = row.text(6);
        }));
    GD_TRY(eachRow("SELECT process_id, CAST(value AS INTEGER) FROM process_fact WHERE key = 'events_from_ns'",
        [&](Statement& row) {
            if (ProcessData* data = process(row.int64(0)))
                data->eventsFromNs = row.int64(1);
        }));
    GD_TRY(eachRow(
        "SELECT process_id, thread_id, name FROM thread ORDER BY process_id, thread_id", [&](Statement& row) {
            if (ProcessData* data = process(row.int64(0)))
                data->threads.push_back({int32(row, 1), std::string(row.text(2))});
        }));
    return eachRow("SELECT process_id, device_id, memory_bytes, workers, wakeup_p99_ns FROM device "
                   "ORDER BY process_id, device_id",
        [&](Statement& row) {
            if (ProcessData* data = process(row.int64(0)))
                data->devices.push_back(
                    {row.int64(1), row.int64(2), row.int64(3), row.optionalInt64(4).value_or(0)});
        });
}

Result<void> RawReader::readNames() {
    GD_TRY(eachRow("SELECT string_id, text FROM string",
        [&](Statement& row) { m_data.strings.emplace(row.int64(0), row.text(1)); }));
    constexpr const char* kShapes
        = "SELECT shape_id, name_id, MIN(shape_id) OVER (PARTITION BY name_id, grid_x, grid_y, grid_z, "
          "block_x, block_y, block_z, dynamic_shared_bytes) FROM kernel_shape";
    GD_TRY(eachRow(kShapes, [&](Statement& row) {
        RawData::Shape shape;
        shape.nameId = row.int64(1);
        shape.launchId = row.int64(2);
        const std::string_view name = m_data.string(shape.nameId);
        shape.isComm = isCommKernel(name);
        shape.isOptimizer = isOptimizerKernel(name);
        m_data.shapes.emplace(row.int64(0), shape);
    }));
    GD_TRY(eachRow("SELECT api_id, name, runtime_name, class FROM api", [&](Statement& row) {
        m_data.apis[row.int64(0)] = {std::string(row.text(1)), std::string(row.text(2)),
            apiClassFrom(row.text(3)), knownCallFrom(row.text(1))};
    }));
    return eachRow("SELECT result, name FROM result_code",
        [&](Statement& row) { m_data.resultNames[row.int64(0)] = row.text(1); });
}

Result<void> RawReader::readCoverage() {
    GD_TRY(
        eachRow("SELECT process_id, time_ns, level FROM recording_state ORDER BY rowid", [&](Statement& row) {
            const std::string_view level = row.text(2);
            if (ProcessData* data = process(row.int64(0)))
                data->recording.push_back(
                    {row.int64(1), level == "off", level != "off" && level != "history"});
        }));
    return eachRow("SELECT process_id, source, from_ns, to_ns, state, reason FROM coverage "
                   "ORDER BY process_id, source, from_ns",
        [&](Statement& row) {
            if (ProcessData* data = process(row.int64(0)))
                data->coverage[std::string(row.text(1))].push_back(
                    {row.int64(2), row.int64(3), coverageStateFrom(row.text(4)), std::string(row.text(5))});
        });
}

Result<void> RawReader::readTracks() {
    return eachRow("SELECT track_id, process_id, device_id, stream_id FROM track", [&](Statement& row) {
        if (ProcessData* data = process(row.int64(1)))
            m_tracks[row.int64(0)] = {data, int32(row, 3), deviceOr(row, 2, 0)};
    });
}

Result<void> RawReader::readCalls() {
    return eachRow("SELECT process_id, thread_id, api_id, start_ns, end_ns, result, correlation, device_id, "
                   "stream_id, object_id, bytes, stack_id FROM api_call",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            ApiCall& call = data->calls.emplace_back();
            call.threadId = int32(row, 1);
            call.apiId = static_cast<std::int16_t>(row.int64(2));
            call.startNs = row.int64(3);
            call.returned = !row.isNull(4);
            call.endNs = call.returned ? row.int64(4) : std::max(data->endNs, call.startNs);
            call.result = int32(row, 5);
            call.correlation = row.int64(6);
            call.deviceId = deviceOr(row, 7, -1);
            call.streamId = row.int64(8);
            call.objectId = row.int64(9);
            call.bytes = row.int64(10);
            call.stackId = row.int64(11);
            if (const auto api = m_data.apis.find(call.apiId); api != m_data.apis.end()) {
                call.apiClass = api->second.apiClass;
                call.known = api->second.known;
            }
        });
}

Result<void> RawReader::readOps() {
    const auto add = [&](Statement& row, DeviceOp::Kind kind) {
        const auto track = m_tracks.find(row.int64(0));
        if (track == m_tracks.end())
            return;
        DeviceOp& op = track->second.process->ops.emplace_back();
        op.kind = kind;
        op.startNs = row.int64(1);
        op.endNs = op.startNs + row.int64(2);
        op.correlation = row.int64(4);
        op.inGraph = !row.isNull(5);
        op.streamId = track->second.streamId;
        op.deviceId = track->second.deviceId;
        if (kind == DeviceOp::Kind::kernel) {
            op.shapeId = int32(row, 3);
            const auto shape = m_data.shapes.find(op.shapeId);
            op.isComm = shape != m_data.shapes.end() && shape->second.isComm;
        } else {
            op.bytes = row.int64(3);
        }
        if (kind == DeviceOp::Kind::copy) {
            op.fromHost = row.text(6) == "HtoD";
            op.fromPageable = op.fromHost && row.text(7) == "host_pageable";
        }
    };
    GD_TRY(eachRow("SELECT track_id, start_ns, dur_ns, shape_id, correlation, node_id FROM kernel",
        [&](Statement& row) { add(row, DeviceOp::Kind::kernel); }));
    GD_TRY(eachRow(
        "SELECT track_id, start_ns, dur_ns, bytes, correlation, node_id, copy_kind, src_memory FROM memcpy",
        [&](Statement& row) { add(row, DeviceOp::Kind::copy); }));
    return eachRow("SELECT track_id, start_ns, dur_ns, bytes, correlation, node_id FROM memset",
        [&](Statement& row) { add(row, DeviceOp::Kind::fill); });
}

Result<void> RawReader::readReplays() {
    return eachRow(
        "SELECT process_id, replay_id, exec_id, stream_id, correlation, launch_start_ns, launch_end_ns, "
        "start_ns, end_ns, stack_id, thread_id, result, device_id, detail FROM replay",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            Replay& replay = data->replays.emplace_back();
            replay.replayId = row.int64(1);
            replay.execId = row.int64(2);
            replay.streamId = row.int64(3);
            replay.correlation = row.int64(4);
            replay.launchStartNs = row.int64(5);
            replay.launchEndNs = row.isNull(6) ? std::max(data->endNs, replay.launchStartNs) : row.int64(6);
            replay.measured = !row.isNull(7) && !row.isNull(8);
            replay.startNs = row.int64(7);
            replay.endNs = row.int64(8);
            replay.stackId = row.int64(9);
            replay.threadId = int32(row, 10);
            replay.result = int32(row, 11);
            replay.deviceId = deviceOr(row, 12, 0);
            replay.byNodes = row.text(13) == "node";
        });
}

Result<void> RawReader::readRanges() {
    return eachRow("SELECT process_id, thread_id, start_ns, end_ns, name_id, kind, depth FROM nvtx_range",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            Range& range = data->ranges.emplace_back();
            range.threadId = int32(row, 1);
            range.startNs = row.int64(2);
            range.closed = !row.isNull(3);
            range.endNs = range.closed ? row.int64(3) : std::max(data->endNs, range.startNs);
            range.nameId = row.int64(4);
            range.isMark = row.text(5) == "mark";
            range.depth = int32(row, 6);
        });
}

Result<void> RawReader::readGraphs() {
    GD_TRY(eachRow(
        "SELECT process_id, graph_id, origin_graph_id, capture_id, created_ns, destroyed_ns, stack_id, "
        "signature FROM graph ORDER BY process_id, graph_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            data->graphIndex[row.int64(1)] = static_cast<std::int32_t>(data->graphs.size());
            Graph& graph = data->graphs.emplace_back();
            graph.graphId = row.int64(1);
            graph.originGraphId = row.int64(2);
            graph.captureId = row.int64(3);
            graph.createdNs = row.int64(4);
            graph.destroyedNs = row.optionalInt64(5);
            graph.stackId = row.int64(6);
            graph.signature = row.optionalInt64(7);
        }));
    return eachRow(
        "SELECT process_id, exec_id, graph_id, created_start_ns, created_ns, destroyed_ns, stack_id, "
        "node_count, thread_id, result, flags FROM graph_exec ORDER BY process_id, exec_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            data->execIndex[row.int64(1)] = static_cast<std::int32_t>(data->execs.size());
            Exec& exec = data->execs.emplace_back();
            exec.execId = row.int64(1);
            exec.graphId = row.int64(2);
            exec.createdStartNs = row.int64(3);
            exec.createdNs = row.int64(4);
            exec.destroyedNs = row.optionalInt64(5);
            exec.stackId = row.int64(6);
            exec.nodeCount = row.optionalInt64(7);
            exec.threadId = int32(row, 8);
            exec.result = int32(row, 9);
            constexpr std::int64_t kDeviceLaunch = 4; // CU_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
            exec.fromDevice = (row.int64(10) & kDeviceLaunch) != 0;
        });
}

// Executables' nodes are clones of their template's: only the template's are kept.
Result<void> RawReader::readNodes() {
    return eachRow(
        "SELECT process_id, node_id, graph_id, exec_id, capture_id, stream_id, created_ns, stack_id, "
        "shape_id, comm_op_id, type, name, range_path, thread_id, origin_node_id, parent_node_id FROM "
        "graph_node "
        "WHERE exec_id IS NULL ORDER BY process_id, node_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            data->nodeIndex[row.int64(1)] = static_cast<std::int32_t>(data->nodes.size());
            Node& node = data->nodes.emplace_back();
            node.nodeId = row.int64(1);
            node.graphId = row.int64(2);
            node.execId = row.int64(3);
            node.captureId = row.int64(4);
            node.streamId = row.int64(5);
            node.createdNs = row.int64(6);
            node.stackId = row.int64(7);
            node.shapeId = row.int64(8);
            node.commOpId = row.int64(9);
            node.type = row.text(10);
            node.name = row.text(11);
            if (node.name.empty() && node.shapeId != 0)
                node.name = m_data.shapeName(node.shapeId);
            node.rangePath = row.text(12);
            node.threadId = int32(row, 13);
            node.originNodeId = row.int64(14);
            node.parentNodeId = row.int64(15);
        });
}

Result<void> RawReader::readCaptures() {
    GD_TRY(eachRow(
        "SELECT process_id, capture_id, stream_id, device_id, mode, begin_thread_id, start_ns, "
        "begin_stack_id, origin_non_blocking, end_start_ns, end_ns, end_stack_id, end_result, graph_id, "
        "node_count, stray_stream_id, stray_stack_id, end_thread_id FROM capture ORDER BY process_id, "
        "capture_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            data->captureIndex[row.int64(1)] = static_cast<std::int32_t>(data->captures.size());
            Capture& capture = data->captures.emplace_back();
            capture.captureId = row.int64(1);
            capture.streamId = row.int64(2);
            capture.deviceId = row.int64(3);
            capture.mode = row.text(4);
            capture.beginThreadId = int32(row, 5);
            capture.startNs = row.int64(6);
            capture.beginStackId = row.int64(7);
            capture.originNonBlocking = row.optionalInt64(8);
            capture.endStartNs = row.optionalInt64(9);
            capture.endNs = row.optionalInt64(10);
            capture.endStackId = row.int64(11);
            capture.endResult = row.optionalInt64(12);
            capture.graphId = row.int64(13);
            capture.nodeCount = row.optionalInt64(14);
            capture.strayStreamId = row.int64(15);
            capture.strayStackId = row.int64(16);
            capture.endThreadId = row.int64(17);
        }));
    return eachRow(
        "SELECT process_id, capture_id, stream_id, time_ns, stack_id FROM capture_join ORDER BY time_ns",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            const auto found = data->captureIndex.find(row.int64(1));
            if (found != data->captureIndex.end())
                data->captures[static_cast<std::size_t>(found->second)].joins.push_back(
                    {row.int64(2), row.int64(3), row.int64(4)});
        });
}

Result<void> RawReader::readMemory() {
    return eachRow(
        "SELECT process_id, allocation_id, device_id, kind, address, bytes, pool_id, thread_id, alloc_ns, "
        "stack_id, free_ns, free_thread_id, free_stack_id FROM allocation "
        "ORDER BY process_id, allocation_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            Allocation& allocation = data->allocations.emplace_back();
            allocation.allocationId = row.int64(1);
            allocation.deviceId = row.optionalInt64(2).value_or(-1);
            allocation.kind = row.text(3);
            allocation.address = static_cast<std::uint64_t>(row.int64(4));
            allocation.bytes = row.int64(5);
            allocation.poolId = row.int64(6);
            allocation.threadId = int32(row, 7);
            allocation.allocNs = row.int64(8);
            allocation.stackId = row.int64(9);
            allocation.freeNs = row.optionalInt64(10);
            allocation.freeThreadId = int32(row, 11);
            allocation.freeStackId = row.int64(12);
        });
}

Result<void> RawReader::readCommunication() {
    GD_TRY(eachRow(
        "SELECT process_id, op_id, comm_hash, kind, count, message_bytes, stream_id, thread_id, time_ns, "
        "capture_id, group_id, stack_id, coalesce(peer, -1) FROM nccl_op ORDER BY process_id, time_ns, op_id",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            CommOp& op = data->commOps.emplace_back();
            op.opId = row.int64(1);
            op.commHash = row.int64(2);
            op.kind = row.text(3);
            op.count = row.int64(4);
            op.messageBytes = row.int64(5);
            op.streamId = row.int64(6);
            op.threadId = int32(row, 7);
            op.timeNs = row.int64(8);
            op.captureId = row.int64(9);
            op.groupId = row.int64(10);
            op.stackId = row.int64(11);
            op.peer = int32(row, 12);
        }));
    return eachRow(
        "SELECT process_id, comm_hash, nranks, rank, created_ns, destroy_start_ns, destroy_end_ns, "
        "destroy_thread_id, destroy_stack_id FROM nccl_comm ORDER BY process_id, created_ns, comm_hash",
        [&](Statement& row) {
            ProcessData* data = process(row.int64(0));
            if (data == nullptr)
                return;
            Comm& comm = data->comms.emplace_back();
            comm.commHash = row.int64(1);
            comm.nranks = row.int64(2);
            comm.rank = row.int64(3);
            comm.createdNs = row.int64(4);
            comm.destroyStartNs = row.optionalInt64(5);
            comm.destroyEndNs = row.optionalInt64(6);
            comm.destroyThreadId = row.int64(7);
            comm.destroyStackId = row.int64(8);
        });
}

} // namespace gd::facts
