// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "collector/api/graphdoctor_api_ids.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace gd::test {

// An in-memory trace with the raw tables, filled row by row. Starts with the table of calls and one process 1
// (threads 1 "main" and 2 "worker", device 0 with stream 7, complete coverage of everything from 0 to
// `endNs`). Ids are given by the caller where other rows name them and counted otherwise; 0 means none. A row
// that the schema refuses aborts the test program.
class TraceBuilder {
public:
    explicit TraceBuilder(std::int64_t endNs = 1'000'000'000'000);

    Db& db() { return m_db; }
    void sql(std::string_view statements);

    // Rows that follow belong to this process; a new one gets threads, device and coverage as process 1 has.
    void process(std::int64_t processId);
    void hostDevice(std::int64_t wakeupP99Ns); // the process's device 0 becomes a set of worker threads
    // Instead of the complete coverage of a source; state "absent" without a span removes it.
    void coverage(std::string_view source, std::string_view state, std::int64_t fromNs = 0,
        std::optional<std::int64_t> toNs = std::nullopt);

    // A stack of native frames, innermost first, as "function" or "function@line".
    std::int64_t stack(const std::vector<std::string>& frames, std::string_view module = "/opt/job/train");

    struct Call {
        std::int64_t stream = 0, object = 0, bytes = 0, stack = 0, correlation = 0;
        int result = 0;
        bool returns = true;
    };
    void call(std::int64_t thread, gd_api_id api, std::int64_t startNs, std::int64_t endNs, const Call& more);
    void call(std::int64_t thread, gd_api_id api, std::int64_t startNs, std::int64_t endNs) {
        call(thread, api, startNs, endNs, Call{});
    }

    struct Work {
        std::int64_t stream = 7, correlation = 0, node = 0, grid = 1, device = 0;
    };
    void kernel(std::string_view name, std::int64_t startNs, std::int64_t endNs, const Work& more);
    void kernel(std::string_view name, std::int64_t startNs, std::int64_t endNs) {
        kernel(name, startNs, endNs, Work{});
    }
    void copy(std::int64_t bytes, std::int64_t startNs, std::int64_t endNs, const Work& more);
    void fill(std::int64_t bytes, std::int64_t startNs, std::int64_t endNs, const Work& more);
    // An eager kernel with its launch call: called at `callNs` for 100 ns, runs from startNs to endNs.
    void launch(std::int64_t thread, std::string_view name, std::int64_t callNs, std::int64_t startNs,
        std::int64_t endNs, const Work& more);

    struct Capture {
        std::int64_t id = 1, stream = 7, thread = 1, graph = 0, beginStack = 0, endStack = 0, stray = 0;
        std::string mode = "global";
        std::optional<std::int64_t> endNs = std::nullopt;
        int endResult = 0;
        int nonBlocking = 1;
    };
    void capture(std::int64_t startNs, const Capture& more);
    void join(std::int64_t capture, std::int64_t stream, std::int64_t timeNs);

    struct Fail {
        std::int64_t thread = 1, stack = 0, stream = 0, object = 0, bytes = 0, otherCapture = 0;
        bool memberStream = false, memberEvent = false, legacy = false, sameDevice = true;
        std::optional<std::int64_t> eventRecordNs = std::nullopt;
    };
    // The n-th failing call of a capture, in the order in which they are added; also an api_call row.
    void fail(std::int64_t capture, gd_api_id api, int result, std::int64_t startNs, const Fail& more);

    struct Node {
        std::int64_t id = 0, graph = 0, capture = 0, thread = 1, stack = 0, grid = 1, createdNs = 0,
                     commOp = 0;
        std::string type = "kernel", name = {}, path = {};
    };
    std::int64_t node(const Node& node); // id 0 = next free one

    // A graph of kernels captured from a stream, with its executable: graph id = capture id, exec id + 1000.
    void graph(std::int64_t graphId, std::int64_t createdNs, std::int64_t capture = 0);
    void exec(std::int64_t execId, std::int64_t graphId, std::int64_t createdNs,
        std::optional<std::int64_t> destroyedNs = std::nullopt, std::int64_t stack = 0);
    // A captured graph of these kernels and its executable `id`, capture and graph likewise `id`.
    void capturedGraph(std::int64_t id, std::int64_t startNs, std::int64_t endNs,
        const std::vector<std::string>& kernels, std::string_view path = "", std::int64_t grid = 1);

    struct Replay {
        std::int64_t thread = 1, stream = 7, device = 0, stack = 0;
        int result = 0;
    };
    // Launch call from l0 to l1 (an api_call too), device from s to e; s < 0: not measured.
    void replay(std::int64_t exec, std::int64_t l0, std::int64_t l1, std::int64_t s, std::int64_t e,
        const Replay& more);
    void replay(std::int64_t exec, std::int64_t l0, std::int64_t l1, std::int64_t s, std::int64_t e) {
        replay(exec, l0, l1, s, e, Replay{});
    }

    struct Allocation {
        std::int64_t thread = 1, stack = 0, freeStack = 0, pool = 0;
        std::string kind = "device";
        std::optional<std::int64_t> freeNs = std::nullopt;
    };
    std::int64_t allocation(
        std::int64_t address, std::int64_t bytes, std::int64_t allocNs, const Allocation& more);
    void pointer(std::int64_t node, std::int64_t address, std::int64_t allocation, int param = 0);

    void range(
        std::int64_t thread, std::string_view name, std::int64_t startNs, std::int64_t endNs, int depth = 0);
    void comm(std::int64_t hash, std::int64_t nranks, std::int64_t createdNs,
        std::optional<std::int64_t> destroyStartNs = std::nullopt,
        std::optional<std::int64_t> destroyEndNs = std::nullopt);
    std::int64_t commOp(std::int64_t hash, std::string_view kind, std::int64_t bytes, std::int64_t timeNs,
        std::int64_t capture = 0, std::int64_t thread = 1, std::int64_t stream = 7);

    // First column of the first row; aborts when there is no row, 0 for NULL.
    std::int64_t number(std::string_view query);
    double real(std::string_view query);
    std::string text(std::string_view query); // "NULL" for NULL
    bool isNull(std::string_view query);

private:
    std::int64_t stringId(std::string_view text);
    std::int64_t shape(std::string_view name, std::int64_t grid, std::int64_t registers);
    std::int64_t track(std::string_view table, std::int64_t device, std::int64_t stream, std::int64_t thread);
    template <class... T> void insert(std::string_view table, int columns, const T&... values);
    template <class... T> void insertInto(std::string_view table, const T&... values) {
        insert(table, static_cast<int>(sizeof...(T)), values...);
    }

    Db m_db;
    std::int64_t m_endNs;
    std::int64_t m_process = 0;
    std::map<std::string, std::int64_t, std::less<>> m_strings;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> m_shapes;
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::int64_t>
        m_tracks;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> m_fails;
    std::map<std::string, Statement, std::less<>> m_inserts;
    std::int64_t m_next = 100'000; // ids that nobody names
};

} // namespace gd::test
