// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_builder.h"

#include "analyzer/base/check.h"
#include "analyzer/import/names.h"
#include "analyzer/schema/schema_sql.h"

#include <cstdio>
#include <cstdlib>

namespace gd::test {
namespace {

using std::nullopt;
using std::optional;

template <class T> void must(const Result<T>& result) {
    if (result)
        return;
    std::fprintf(stderr, "trace builder: %s\n", result.error().message.c_str());
    std::abort();
}

template <class T> T take(Result<T> result) {
    must(result);
    return std::move(result).value();
}

optional<std::int64_t> orNull(std::int64_t id) {
    return id == 0 ? nullopt : optional(id);
}

constexpr std::int64_t kRegisters = 32; // of a kernel that ran; of a node's they are not known
constexpr const char* kSources[] = {"callbacks", "launch_callbacks", "node_params", "graph_trace",
    "node_activity", "eager_kernel_activity", "memory", "framework_allocator", "sync", "nvtx", "comm_ops",
    "stacks_native"};

} // namespace

TraceBuilder::TraceBuilder(std::int64_t endNs)
    : m_db(take(Db::openInMemory()))
    , m_endNs(endNs) {
    for (const schema::RawSchema& raw : schema::rawSchemas())
        sql(raw.sql);
    sql(schema::factsSchema());
    must(importer::writeDimensionTables(m_db));
    process(1);
}

template <class... T> void TraceBuilder::insert(std::string_view table, int columns, const T&... values) {
    auto statement = m_inserts.find(table);
    if (statement == m_inserts.end()) {
        std::string text = "INSERT INTO " + std::string(table) + " VALUES (?";
        for (int i = 1; i < columns; ++i)
            text += ", ?";
        statement = m_inserts.emplace(table, take(m_db.prepare(text + ")"))).first;
    }
    must(statement->second.runWith(values...));
}

void TraceBuilder::sql(std::string_view statements) {
    must(m_db.exec(statements));
}

void TraceBuilder::process(std::int64_t processId) {
    m_process = processId;
    insertInto("process", processId, 1000 + processId, nullptr, nullptr, "primary", "host", processId - 1,
        nullptr, nullptr, nullptr, "cuda", 0, m_endNs, "closed", 0, nullptr, nullptr, nullptr);
    insertInto("thread", processId, 1, 101, "main", 0);
    insertInto("thread", processId, 2, 102, "worker", 0);
    insertInto("device", processId, 0, "GPU", nullptr, 80'000'000'000, "9.0", 132, 0, nullptr);
    insertInto("stream", processId, 7, 0, nullptr, 1, 0, 0, nullptr, nullptr);
    for (const char* source : kSources)
        insertInto("coverage", processId, source, 0, m_endNs, "complete", nullptr);
}

void TraceBuilder::hostDevice(std::int64_t wakeupP99Ns) {
    sql("UPDATE device SET workers = 2, wakeup_p99_ns = " + std::to_string(wakeupP99Ns)
        + " WHERE process_id = " + std::to_string(m_process));
}

void TraceBuilder::coverage(
    std::string_view source, std::string_view state, std::int64_t fromNs, optional<std::int64_t> toNs) {
    const std::string where = " process_id = " + std::to_string(m_process) + " AND source = '"
        + std::string(source)
        + "' AND state = 'complete' AND from_ns = 0 AND to_ns = " + std::to_string(m_endNs);
    sql("DELETE FROM coverage WHERE" + where);
    insertInto("coverage", m_process, std::string(source), fromNs, toNs.value_or(m_endNs), std::string(state),
        nullptr);
}

std::int64_t TraceBuilder::stack(const std::vector<std::string>& frames, std::string_view module) {
    const std::int64_t id = ++m_next;
    insertInto("stack", id, m_process);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::size_t at = frames[i].find('@');
        const std::string function = frames[i].substr(0, at);
        const std::int64_t line = at == std::string::npos ? 1 : std::atoll(frames[i].c_str() + at + 1);
        const auto address = static_cast<std::int64_t>(std::hash<std::string>{}(frames[i]) & 0xffffffff);
        insertInto("stack_frame", id, "native", i, function, function + ".cpp", line, std::string(module),
            address, address, 0);
    }
    return id;
}

void TraceBuilder::call(
    std::int64_t thread, gd_api_id api, std::int64_t startNs, std::int64_t endNs, const Call& more) {
    insertInto("api_call", ++m_next, track("api_call", -1, 0, thread), m_process, thread,
        static_cast<int>(api), startNs, more.returns ? optional(endNs) : nullopt,
        more.returns ? optional<std::int64_t>(more.result) : nullopt, orNull(more.correlation), 0,
        orNull(more.stream), orNull(more.object), orNull(more.bytes), orNull(more.stack));
}

void TraceBuilder::kernel(std::string_view name, std::int64_t startNs, std::int64_t endNs, const Work& more) {
    insertInto("kernel", ++m_next, track("kernel", more.device, more.stream, 0), startNs, endNs - startNs,
        shape(name, more.grid, kRegisters), orNull(more.correlation), orNull(more.node));
}

void TraceBuilder::copy(std::int64_t bytes, std::int64_t startNs, std::int64_t endNs, const Work& more) {
    insertInto("memcpy", ++m_next, track("memcpy", more.device, more.stream, 0), startNs, endNs - startNs,
        bytes, "HtoD", nullptr, nullptr, orNull(more.correlation), orNull(more.node));
}

void TraceBuilder::fill(std::int64_t bytes, std::int64_t startNs, std::int64_t endNs, const Work& more) {
    insertInto("memset", ++m_next, track("memset", more.device, more.stream, 0), startNs, endNs - startNs,
        bytes, 0, orNull(more.correlation), orNull(more.node));
}

void TraceBuilder::launch(std::int64_t thread, std::string_view name, std::int64_t callNs,
    std::int64_t startNs, std::int64_t endNs, const Work& more) {
    Work work = more;
    work.correlation = ++m_next;
    call(thread, GD_API_LAUNCH_KERNEL, callNs, callNs + 100,
        {.stream = more.stream, .correlation = work.correlation});
    kernel(name, startNs, endNs, work);
}

void TraceBuilder::capture(std::int64_t startNs, const Capture& more) {
    const bool ended = more.endNs.has_value();
    insertInto("capture", m_process, more.id, more.stream, 0, more.mode, more.thread, startNs,
        orNull(more.beginStack), more.nonBlocking, ended ? optional(*more.endNs - 1) : nullopt, more.endNs,
        ended ? optional(more.thread) : nullopt, orNull(more.endStack),
        ended ? optional<std::int64_t>(more.endResult) : nullopt, orNull(more.graph), nullptr,
        orNull(more.stray), nullptr);
}

void TraceBuilder::join(std::int64_t capture, std::int64_t stream, std::int64_t timeNs) {
    insertInto("capture_join", m_process, capture, stream, 7, 1, timeNs, 1, nullptr);
}

void TraceBuilder::fail(
    std::int64_t capture, gd_api_id api, int result, std::int64_t startNs, const Fail& more) {
    const std::int64_t ordinal = m_fails[{m_process, capture}]++;
    insertInto("capture_fail", m_process, capture, ordinal, static_cast<int>(api), result, startNs,
        startNs + 50, more.thread, orNull(more.stack), orNull(more.stream), orNull(more.object),
        orNull(more.bytes), more.thread == 1, more.memberStream, more.memberEvent, more.legacy,
        more.sameDevice, 0, orNull(more.otherCapture), more.eventRecordNs, nullptr);
    call(more.thread, api, startNs, startNs + 50,
        {.stream = more.stream,
            .object = more.object,
            .bytes = more.bytes,
            .stack = more.stack,
            .result = result});
}

std::int64_t TraceBuilder::node(const Node& node) {
    const std::int64_t id = node.id != 0 ? node.id : ++m_next;
    const bool kernel = node.type == "kernel";
    insertInto("graph_node", m_process, id, orNull(node.graph), nullptr, nullptr, nullptr,
        orNull(node.capture), node.type, 7, node.thread, node.createdNs, nullptr, orNull(node.stack),
        node.path, kernel ? optional(shape(node.name, node.grid, 0)) : nullopt, node.name,
        kernel ? optional<std::int64_t>(1) : nullopt, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, orNull(node.commOp));
    return id;
}

void TraceBuilder::graph(std::int64_t graphId, std::int64_t createdNs, std::int64_t capture) {
    insertInto("graph", m_process, graphId, capture != 0 ? "capture" : "create", nullptr, orNull(capture),
        createdNs, nullptr, nullptr, nullptr);
}

void TraceBuilder::exec(std::int64_t execId, std::int64_t graphId, std::int64_t createdNs,
    optional<std::int64_t> destroyedNs, std::int64_t stack) {
    insertInto("graph_exec", m_process, execId, orNull(graphId), 0, 1, createdNs - 10, createdNs, destroyedNs,
        1, orNull(stack), 0, nullptr);
}

void TraceBuilder::capturedGraph(std::int64_t id, std::int64_t startNs, std::int64_t endNs,
    const std::vector<std::string>& kernels, std::string_view path, std::int64_t grid) {
    capture(startNs, {.id = id, .graph = id, .endNs = endNs});
    graph(id, endNs, id);
    for (const std::string& kernel : kernels)
        node({.graph = id,
            .capture = id,
            .grid = grid,
            .createdNs = startNs + 1,
            .name = kernel,
            .path = std::string(path)});
    exec(id, id, endNs + 20);
}

void TraceBuilder::replay(
    std::int64_t exec, std::int64_t l0, std::int64_t l1, std::int64_t s, std::int64_t e, const Replay& more) {
    const std::int64_t correlation = ++m_next;
    insertInto("replay", ++m_next, track("replay", more.device, more.stream, 0), m_process, exec, more.device,
        more.stream, more.thread, correlation, l0, l1, more.result, s < 0 ? nullopt : optional(s),
        s < 0 ? nullopt : optional(e), s < 0 ? "launch_only" : "graph", orNull(more.stack));
    call(more.thread, GD_API_GRAPH_LAUNCH, l0, l1,
        {.stream = more.stream, .object = exec, .correlation = correlation, .result = more.result});
}

std::int64_t TraceBuilder::allocation(
    std::int64_t address, std::int64_t bytes, std::int64_t allocNs, const Allocation& more) {
    const std::int64_t id = ++m_next;
    insertInto("allocation", m_process, id,
        more.kind.starts_with("host") ? nullopt : optional<std::int64_t>(0), more.kind, address, bytes,
        orNull(more.pool), nullptr, more.thread, allocNs, orNull(more.stack), more.freeNs,
        more.freeNs ? optional(more.thread) : nullopt, orNull(more.freeStack));
    return id;
}

void TraceBuilder::pointer(std::int64_t node, std::int64_t address, std::int64_t allocation, int param) {
    insertInto("node_pointer", m_process, node, param, "param", 0, address, allocation);
}

void TraceBuilder::range(
    std::int64_t thread, std::string_view name, std::int64_t startNs, std::int64_t endNs, int depth) {
    insertInto("nvtx_range", ++m_next, track("nvtx_range", -1, 0, thread), m_process, thread, startNs, endNs,
        stringId(name), stringId(""), startNs == endNs ? "mark" : "push", depth, nullptr);
}

void TraceBuilder::comm(std::int64_t hash, std::int64_t nranks, std::int64_t createdNs,
    optional<std::int64_t> destroyStartNs, optional<std::int64_t> destroyEndNs) {
    insertInto("nccl_comm", m_process, hash, nranks, m_process - 1, 0, createdNs, nullptr, destroyStartNs,
        destroyEndNs, destroyStartNs ? optional<std::int64_t>(1) : nullopt, nullptr);
}

std::int64_t TraceBuilder::commOp(std::int64_t hash, std::string_view kind, std::int64_t bytes,
    std::int64_t timeNs, std::int64_t capture, std::int64_t thread, std::int64_t stream) {
    const std::int64_t id = ++m_next;
    insertInto("nccl_op", m_process, id, hash, std::string(kind), bytes / 4, "float32", bytes, nullptr,
        orNull(stream), thread, timeNs, orNull(capture), nullptr, nullptr, "runtime", nullptr);
    return id;
}

std::int64_t TraceBuilder::stringId(std::string_view text) {
    const auto found = m_strings.find(text);
    if (found != m_strings.end())
        return found->second;
    const auto id = static_cast<std::int64_t>(m_strings.size() + 1);
    m_strings.emplace(text, id);
    insertInto("string", id, std::string(text));
    return id;
}

std::int64_t TraceBuilder::shape(std::string_view name, std::int64_t grid, std::int64_t registers) {
    const auto [entry, isNew] = m_shapes.try_emplace({stringId(name), grid, registers}, m_shapes.size() + 1);
    if (isNew)
        insertInto("kernel_shape", entry->second, stringId(name), grid, 1, 1, 128, 1, 1, 0, 0, registers);
    return entry->second;
}

std::int64_t TraceBuilder::track(
    std::string_view table, std::int64_t device, std::int64_t stream, std::int64_t thread) {
    const auto [entry, isNew]
        = m_tracks.try_emplace({std::string(table), m_process, device, stream, thread}, m_tracks.size() + 1);
    if (isNew)
        insertInto("track", entry->second, m_process, std::string(table),
            device < 0 ? nullopt : optional(device), orNull(stream), orNull(thread), "track", nullptr,
            nullptr, 0);
    return entry->second;
}

std::int64_t TraceBuilder::number(std::string_view query) {
    auto select = take(m_db.prepare(query));
    GD_CHECK(take(select.step()));
    return select.int64(0);
}

double TraceBuilder::real(std::string_view query) {
    auto select = take(m_db.prepare(query));
    GD_CHECK(take(select.step()));
    return select.real(0);
}

std::string TraceBuilder::text(std::string_view query) {
    auto select = take(m_db.prepare(query));
    GD_CHECK(take(select.step()));
    return select.optionalText(0).value_or("NULL");
}

bool TraceBuilder::isNull(std::string_view query) {
    auto select = take(m_db.prepare(query));
    GD_CHECK(take(select.step()));
    return select.isNull(0);
}

} // namespace gd::test
