// SPDX-License-Identifier: Apache-2.0
// Traces in the format of other viewers: every event is there, on a track where it nests, on the right time.
#include "analyzer/report/export/export_trace.h"

#include "analyzer/facts/facts.h"
#include "analyzer/report/export/sinks.h"
#include "tests/support/trace_builder.h"
#include "tests/unit/report/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace gd;
using namespace gd::report;
using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

namespace {

std::string exported(test::TraceBuilder& trace, const ExportOptions& options = {},
    const std::vector<rules::Finding>& findings = {}) {
    // The builder leaves out where the rows of a track lie.
    trace.sql("UPDATE track SET first_rowid = 1, last_rowid = 1000000000 WHERE first_rowid IS NULL");
    std::string text;
    const auto done = exportTrace(trace.db(), "x.gdt", findings, options, [&](std::string_view part) {
        text += part;
        return Result<void>();
    });
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return text;
}

std::int64_t nsOf(const json& event, const char* key) {
    return std::llround(event[key].get<double>() * 1000);
}

// A parsed export with what every reader relies on.
struct Parsed {
    explicit Parsed(const std::string& text)
        : root(json::parse(text)) {
        for (const json& event : root["traceEvents"]) {
            EXPECT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer()) << event;
            EXPECT_TRUE(event["name"].is_string()) << event;
            if (event["ph"] != "M") {
                EXPECT_TRUE(event["ts"].is_number()) << event;
            }
        }
        expectNesting();
        expectArrows();
    }
    std::vector<json> all(const std::string& phase, const std::string& category) const {
        std::vector<json> out;
        for (const json& event : root["traceEvents"]) {
            if (event["ph"] == phase && event.value("cat", "") == category)
                out.push_back(event);
        }
        return out;
    }
    std::vector<json> slices(const std::string& category) const { return all("X", category); }
    std::string trackOf(const json& event) const {
        for (const json& other : root["traceEvents"]) {
            if (other["name"] == "thread_name" && other["pid"] == event["pid"]
                && other["tid"] == event["tid"])
                return other["args"]["name"];
        }
        return "";
    }
    std::string processOf(const json& event) const {
        for (const json& other : root["traceEvents"]) {
            if (other["name"] == "process_name" && other["pid"] == event["pid"])
                return other["args"]["name"];
        }
        return "";
    }

    json root;

private:
    // Old viewers drop a slice that overlaps another of its track without lying in it.
    void expectNesting() const {
        std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<std::int64_t, std::int64_t>>>
            tracks;
        for (const json& event : root["traceEvents"]) {
            if (event["ph"] == "X")
                tracks[{event["pid"], event["tid"]}].emplace_back(
                    nsOf(event, "ts"), nsOf(event, "ts") + nsOf(event, "dur"));
        }
        for (auto& [track, slices] : tracks) {
            std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
                return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
            });
            std::vector<std::int64_t> open;
            for (const auto& [start, end] : slices) {
                while (!open.empty() && open.back() <= start)
                    open.pop_back();
                EXPECT_TRUE(open.empty() || end <= open.back())
                    << "on track " << track.second << " at " << start;
                open.push_back(end);
            }
        }
    }
    // Each begins inside a slice of its track and ends at the start of one.
    void expectArrows() const {
        for (const json& event : root["traceEvents"]) {
            if (event["ph"] != "s" && event["ph"] != "f")
                continue;
            const bool isStart = event["ph"] == "s";
            const auto has = std::count_if(
                root["traceEvents"].begin(), root["traceEvents"].end(), [&](const json& other) {
                    if (other["pid"] != event["pid"] || other["tid"] != event["tid"] || other["ph"] != "X")
                        return false;
                    const std::int64_t from = nsOf(other, "ts");
                    const std::int64_t at = nsOf(event, "ts");
                    return isStart ? from <= at && at <= from + nsOf(other, "dur") : from == at;
                });
            EXPECT_GT(has, 0) << event;
            const auto partner = std::count_if(
                root["traceEvents"].begin(), root["traceEvents"].end(), [&](const json& other) {
                    return other["ph"] == (isStart ? "f" : "s") && other["id"] == event["id"];
                });
            EXPECT_EQ(partner, 1) << event;
        }
    }
};

// Eight steps of 1000 ns with a replay and an eager kernel each.
void fill(test::TraceBuilder& trace) {
    trace.sql("INSERT INTO meta VALUES ('start_unix_ns', '1700000000123456789'), ('command_line', 'train')");
    trace.capturedGraph(1, 10, 20, {"gemm"}, "step/forward");
    for (int i = 0; i < 8; ++i) {
        const std::int64_t at = 1000 * (i + 1);
        trace.range(1, "step", at, at + 1000);
        trace.replay(1, at + 10, at + 20, at + 100, at + 400);
        trace.launch(1, "tail", at + 30, at + 400, at + 450, {});
    }
    const Result<void> built = facts::buildFacts(trace.db(), {});
    ASSERT_TRUE(built) << built.error().message;
}

class Export : public testing::Test {
protected:
    test::TraceBuilder trace;
};

TEST_F(Export, HoldsCallsRangesStepsReplaysAndKernelsOfAJob) {
    fill(trace);
    const Parsed found(exported(trace));
    EXPECT_EQ(found.root["baseTimeNanoseconds"], 1'700'000'000'123'456'789);
    EXPECT_EQ(found.root["traceName"], "train");
    EXPECT_EQ(found.root["deviceProperties"][0]["name"], "GPU");
    EXPECT_EQ(found.root["deviceProperties"][0]["computeMajor"], 9);
    EXPECT_EQ(found.root["deviceProperties"][0]["numSms"], 132);
    EXPECT_EQ(found.root["distributedInfo"].dump(), R"({"rank":0})"); // of how many is not known
    EXPECT_THAT(found.slices("kernel"), SizeIs(8));
    EXPECT_THAT(found.slices("user_annotation"), SizeIs(8));
    EXPECT_THAT(found.slices("step"), SizeIs(16)); // on the host and on the device
    EXPECT_THAT(found.slices("capture"), SizeIs(1));
    const auto replays = found.slices("cuda_graph");
    ASSERT_THAT(replays, SizeIs(8));
    EXPECT_EQ(replays[0]["name"], "replay of step/forward");
    EXPECT_EQ(nsOf(replays[0], "ts"), 1100);
    EXPECT_EQ(nsOf(replays[0], "dur"), 300);
    EXPECT_EQ(found.trackOf(replays[0]), "graphs on stream 7");
    EXPECT_EQ(found.processOf(replays[0]), "rank 0 (pid 1001) on host: device 0, GPU");
    EXPECT_EQ(found.trackOf(found.slices("kernel")[0]), "stream 7");
    // One arrow to each replay, one to each kernel that was launched by itself.
    EXPECT_THAT(found.all("s", "ac2g"), SizeIs(16));
    // Calls and what they started share their correlation, as in PyTorch's traces.
    const json kernel = found.slices("kernel")[0];
    const auto calls = found.slices("cuda_runtime");
    EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                  [&](const json& call) {
                      return call["args"].value("correlation", json()) == kernel["args"]["correlation"];
                  }),
        1);
}

TEST_F(Export, NodesTellWhatTheyWereCapturedFrom) {
    trace.comm(0xabc, 8, 5);
    const std::int64_t op = trace.commOp(0xabc, "all_reduce", 4096, 12, 1);
    trace.node({.id = 5, .graph = 1, .capture = 1, .type = "kernel", .name = "ncclDevKernel", .path = "a/b"});
    trace.sql("UPDATE graph_node SET comm_op_id = " + std::to_string(op) + " WHERE node_id = 5");
    trace.graph(1, 20);
    trace.exec(9, 1, 30);
    trace.sql("INSERT INTO graph_node (process_id, node_id, exec_id, origin_node_id, type, created_ns) "
              "VALUES (1, 900, 9, 5, 'kernel', 30)");
    trace.replay(9, 100, 110, 200, 300);
    const std::int64_t correlation = trace.number("SELECT correlation FROM replay");
    trace.sql("UPDATE replay SET detail = 'node'");
    trace.kernel("ncclDevKernel_AllReduce", 200, 300, {.correlation = correlation, .node = 900});
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    const Parsed found(exported(trace));
    const auto kernels = found.slices("kernel");
    ASSERT_THAT(kernels, SizeIs(1));
    const json& arguments = kernels[0]["args"];
    EXPECT_EQ(arguments["graph id"], 9);
    EXPECT_EQ(arguments["graph node id"], 900);
    EXPECT_EQ(arguments["captured in"], "a/b");
    EXPECT_EQ(arguments["Collective name"], "all_reduce");
    EXPECT_EQ(arguments["message bytes"], 4096);
    EXPECT_EQ(arguments["Group size"], 8);
    EXPECT_EQ(arguments["correlation"], correlation);
    EXPECT_THAT(found.all("s", "ac2g"), SizeIs(1)); // the launch is charged once, to the replay
    const auto calls = found.all("i", "nccl");
    ASSERT_THAT(calls, SizeIs(1));
    EXPECT_EQ(calls[0]["name"], "nccl all_reduce");
    EXPECT_EQ(calls[0]["args"]["captured"], 1);
}

TEST_F(Export, WorkThatOverlapsOnAStreamGetsATrackBesideIt) {
    trace.kernel("a", 100, 500);
    trace.kernel("b", 200, 600); // a branch of a graph
    trace.kernel("c", 300, 400);
    trace.kernel("d", 500, 700);
    trace.copy(64, 350, 450, {});
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    const Parsed found(exported(trace));
    const auto kernels = found.slices("kernel");
    ASSERT_THAT(kernels, SizeIs(4));
    EXPECT_EQ(found.trackOf(kernels[0]), "stream 7");
    EXPECT_EQ(found.trackOf(kernels[1]), "stream 7 (2)");
    EXPECT_EQ(found.trackOf(kernels[2]), "stream 7 (3)");
    EXPECT_EQ(found.trackOf(kernels[3]), "stream 7");
    const auto copies = found.slices("gpu_memcpy");
    ASSERT_THAT(copies, SizeIs(1));
    EXPECT_EQ(found.trackOf(copies[0]), "stream 7 (4)");
    EXPECT_EQ(copies[0]["args"]["bytes"], 64);
}

TEST_F(Export, TimesKeepEveryNanosecond) {
    const std::int64_t late = 86'400'000'000'001; // a day and a nanosecond
    trace.kernel("a", late, late + 7);
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    const std::string text = exported(trace);
    EXPECT_THAT(text, HasSubstr("\"ts\":86400000000.001"));
    EXPECT_THAT(text, HasSubstr("\"dur\":0.007"));
}

TEST_F(Export, CountersMemoryAndFindingsAreEvents) {
    fill(trace);
    trace.sql("INSERT INTO memory_sample VALUES (1, 0, 500, 1000, 5000, 300);"
              "INSERT INTO track VALUES (77, 1, 'counter', NULL, NULL, NULL, 'loss', 1, 1, 1);"
              "INSERT INTO counter VALUES (1, 77, 600, 2.5)");
    trace.allocation(0x1000, 4096, 100, {.freeNs = 900});
    rules::Finding finding = test::sampleReport("words").findings[0];
    finding.startNs = 1500;
    finding.endNs = 1700;
    const Parsed found(exported(trace, {}, {finding}));
    std::map<std::string, std::vector<json>> counters;
    for (const json& event : found.all("C", "counter"))
        counters[event["name"]].push_back(event["args"]);
    EXPECT_EQ(json(counters["loss"]).dump(), R"([{"value":2.5}])");
    EXPECT_EQ(
        json(counters["device memory (bytes)"]).dump(), R"([{"in use":4000,"reserved by graphs":300}])");
    EXPECT_EQ(json(counters["allocated by calls (bytes)"]).dump(), R"([{"allocated":4096},{"allocated":0}])");
    const auto findings = found.slices("finding");
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0]["name"], "GD101 words");
    EXPECT_EQ(findings[0]["args"]["severity"], "error");
    EXPECT_EQ(findings[0]["args"]["at"], "words:42 in words");
}

TEST_F(Export, RangesThatCrossAreNotLost) {
    trace.range(1, "outer", 100, 500);
    trace.range(1, "other", 300, 900);
    trace.range(1, "a mark", 400, 400);
    trace.sql("UPDATE nvtx_range SET kind = 'start' WHERE start_ns = 300;"
              "UPDATE nvtx_range SET kind = 'mark' WHERE start_ns = 400");
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    const Parsed found(exported(trace));
    EXPECT_THAT(found.slices("user_annotation"), SizeIs(1));
    ASSERT_THAT(found.all("b", "user_annotation"), SizeIs(1));
    ASSERT_THAT(found.all("e", "user_annotation"), SizeIs(1));
    EXPECT_EQ(found.all("b", "user_annotation")[0]["id"], found.all("e", "user_annotation")[0]["id"]);
    EXPECT_EQ(nsOf(found.all("e", "user_annotation")[0], "ts"), 900);
    EXPECT_THAT(found.all("i", "user_annotation"), SizeIs(1));
}

TEST_F(Export, StepsAndRanksNarrowIt) {
    fill(trace);
    ExportOptions options;
    options.filter.steps = std::pair(3, 4);
    const Parsed found(exported(trace, options));
    // On the host step 3 begins at 4000 and step 4 ends at 6000; on the device from 3450 on.
    for (const json& kernel : found.slices("kernel")) {
        EXPECT_GE(nsOf(kernel, "ts") + nsOf(kernel, "dur"), 3450);
        EXPECT_LE(nsOf(kernel, "ts"), 6000);
    }
    EXPECT_THAT(found.slices("cuda_graph"), SizeIs(2));
    options.filter.steps = std::pair(50, 60);
    const auto refused
        = exportTrace(trace.db(), "x.gdt", {}, options, [](std::string_view) { return Result<void>(); });
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, StartsWith("x.gdt: no step from 50 to 60"));
    trace.sql("UPDATE process SET rank = 3, world_size = 8");
    const Parsed ranked(exported(trace));
    EXPECT_EQ(ranked.root["distributedInfo"].dump(), R"({"rank":3,"world_size":8})");
    ExportOptions other;
    other.filter.rank = 4;
    EXPECT_FALSE(
        exportTrace(trace.db(), "x.gdt", {}, other, [](std::string_view) { return Result<void>(); }));
}

TEST_F(Export, ProcessesOfOtherHostsKeepApart) {
    // The same pid, thread numbers, streams and correlations on both.
    for (const int process : {1, 2}) {
        if (process > 1)
            trace.process(process);
        trace.launch(1, "same", 100, 200, 300, {});
    }
    trace.sql("UPDATE process SET pid = 7");
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    const Parsed found(exported(trace));
    const auto kernels = found.slices("kernel");
    ASSERT_THAT(kernels, SizeIs(2));
    EXPECT_NE(kernels[0]["pid"], kernels[1]["pid"]);
    EXPECT_THAT(found.all("s", "ac2g"), SizeIs(2));
}

TEST_F(Export, AnEmptyTraceIsAnEmptyExport) {
    trace.sql("DELETE FROM process; DELETE FROM thread; DELETE FROM device");
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    EXPECT_EQ(json::parse(exported(trace))["traceEvents"], json::array());
}

TEST_F(Export, WritingThatFailsEndsTheReading) {
    for (int i = 0; i < 20'000; ++i)
        trace.kernel("a kernel with a name of some length", 100 * i, 100 * i + 50);
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    trace.sql("UPDATE track SET first_rowid = 1, last_rowid = 1000000000");
    int parts = 0;
    const auto done = exportTrace(trace.db(), "x.gdt", {}, {}, [&](std::string_view) -> Result<void> {
        ++parts;
        return fail(ErrorCode::io, "the disk is full");
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "the disk is full");
    EXPECT_EQ(parts, 1);
}

TEST(ExportText, IsJsonWhateverTheJobWrites) {
    for (const std::string& text : test::hostileTexts()) {
        std::string out;
        appendJsonText(out, text);
        const json parsed = json::parse(out);
        EXPECT_TRUE(parsed.is_string());
        std::string control;
        std::copy_if(out.begin(), out.end(), std::back_inserter(control),
            [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
        EXPECT_EQ(control, "");
        if (text.find('\xff') == std::string::npos && text.find("\xed\xa0") == std::string::npos) {
            EXPECT_EQ(parsed, text);
        }
    }
}

TEST_F(Export, HostileNamesStayInTheirPlaces) {
    for (const std::string& text : test::hostileTexts()) {
        test::TraceBuilder hostile;
        // The schema takes UTF-8 only: what import writes.
        const std::string clean
            = json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
        hostile.kernel(clean, 100, 200);
        hostile.range(1, clean, 100, 200);
        hostile.sql("INSERT OR REPLACE INTO meta VALUES ('command_line', 'x')");
        ASSERT_TRUE(facts::buildFacts(hostile.db(), {}));
        const Parsed found(exported(hostile));
        ASSERT_THAT(found.slices("kernel"), SizeIs(1)) << text;
        EXPECT_THAT(found.slices("user_annotation"), SizeIs(1)) << text;
    }
}

TEST_F(Export, CsvHasOneLineAnEvent) {
    fill(trace);
    trace.kernel("void gemm<float, \"x\">(int)", 20'000, 20'100);
    ASSERT_TRUE(facts::buildFacts(trace.db(), {}));
    ExportOptions options;
    options.format = ExportFormat::csv;
    const std::string text = exported(trace, options);
    EXPECT_THAT(text, StartsWith("kind,process,track,category,name,start_ns,duration_ns,arguments\r\n"));
    EXPECT_THAT(text,
        HasSubstr("slice,\"rank 0 (pid 1001) on host: device 0, GPU\",stream 7,kernel,"
                  "\"void gemm<float, \"\"x\"\">(int)\",20000,100,"));
    EXPECT_THAT(text, HasSubstr("graphs on stream 7,cuda_graph,replay of step/forward,1100,300,"));
    EXPECT_THAT(text, HasSubstr("grid=1x1x1"));
}

TEST(ExportFormat, HasItsNames) {
    for (const char* word : {"chrome", "perfetto", "csv"})
        EXPECT_TRUE(exportFormatFrom(word)) << word;
    EXPECT_FALSE(exportFormatFrom("pdf"));
}

} // namespace
