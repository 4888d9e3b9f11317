// SPDX-License-Identifier: Apache-2.0
// What a hook of a framework tells and asks through the runtime table.
#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/session/framework_note.h"
#include "collector/session/hooks.h"
#include "collector/session/session.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

extern "C" const gd_rt_table* graphdoctor_runtime_attach(std::uint32_t, const char*, clockid_t);

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

// collector/framework/graphdoctor_torch/table.py counts the entries before the hook's.
static_assert(offsetof(gd_rt_table, block) == 2 * sizeof(std::uint32_t) + 18 * sizeof(void*));
static_assert(offsetof(gd_rt_table, block_coverage) == offsetof(gd_rt_table, block) + sizeof(void*));
static_assert(offsetof(gd_rt_table, status) == offsetof(gd_rt_table, block) + 2 * sizeof(void*));
static_assert(offsetof(gd_rt_table, other_profiler) == offsetof(gd_rt_table, block) + 3 * sizeof(void*));

/// As a hook does it: no name, so nothing is said about the process's runtime.
const gd_rt_table& hookTable() {
    return *graphdoctor_runtime_attach(GD_RT_VERSION, nullptr, CLOCK_MONOTONIC);
}

std::vector<raw::Coverage> frameworkCoverage(const RawSpool& spool) {
    std::vector<raw::Coverage> out;
    for (const raw::Coverage& record : spool.historyOf<raw::Coverage>()) {
        if (record.source == static_cast<std::uint32_t>(raw::CoverageSource::framework_allocator)) {
            out.push_back(record);
        }
    }
    return out;
}

RawSpool hookRecorded(SpoolBuilder& spool, const std::function<void()>& body) {
    EXPECT_EQ(spool.run(body), 0);
    return RawSpool(spool.segments().at(0), SpoolBuilder::ringOf(spool.segments().at(0)));
}

gd_rt_status statusNow() {
    gd_rt_status status{};
    status.size = sizeof status;
    hookTable().status(&status);
    return status;
}

void launch() {
    gd_rt_api call{};
    call.size = sizeof call;
    call.api = GD_API_GRAPH_LAUNCH;
    hookTable().api_enter(&call);
    hookTable().api_exit(&call, 0);
}

} // namespace

TEST(Framework, BlocksKeepTheirTimesAndLines) {
    SpoolBuilder spool;
    const RawSpool raw = hookRecorded(spool, [] {
        const gd_rt_frame frames[] = {{"train.py", "load", 7, 0}, {"train.py", "main", 20, 0}};
        gd_rt_block block{};
        block.size = sizeof block;
        block.event = GD_RT_BLOCK_FREE_REQUESTED;
        block.time_ns = 12345;
        block.ptr = 0x7000;
        block.bytes = 512;
        block.stream = 9;
        block.pool = 3;
        block.device = 1;
        block.frames = frames;
        block.frame_count = 2;
        hookTable().block(&block);
        hookTable().block_coverage(GD_RT_FOLLOW_COMPLETE, 777, "");
    });
    const auto blocks = raw.historyOf<raw::FrameworkBlock>();
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks[0].timeNs, 12345);
    EXPECT_EQ(blocks[0].address, 0x7000u);
    EXPECT_EQ(blocks[0].bytes, 512u);
    EXPECT_EQ(blocks[0].stream, 9u);
    EXPECT_EQ(blocks[0].pool, 3u);
    EXPECT_EQ(blocks[0].device, 1u);
    EXPECT_EQ(blocks[0].event, GD_RT_BLOCK_FREE_REQUESTED);
    bool hasStack = false;
    for (const auto& record : raw.history) {
        if (record.kind == raw::RecordKind::Stack && record.as<raw::Stack>().id == blocks[0].stack) {
            raw::PythonFrame frame{};
            std::memcpy(&frame, record.bytes + sizeof(raw::Stack), sizeof frame);
            EXPECT_EQ(raw.string(frame.file), "train.py");
            EXPECT_EQ(raw.string(frame.function), "load");
            EXPECT_EQ(frame.line, 7u);
            EXPECT_EQ(record.as<raw::Stack>().pythonCount, 2u);
            hasStack = true;
        }
    }
    EXPECT_TRUE(hasStack);
    const auto coverage = frameworkCoverage(raw);
    ASSERT_FALSE(coverage.empty());
    EXPECT_EQ(coverage.back().timeNs, 777);
    EXPECT_EQ(raw.fact("runtime"), ""); // a hook is no runtime
}

TEST(Framework, WithoutACachingAllocatorNothingIsHidden) {
    SpoolBuilder spool;
    const auto coverage = frameworkCoverage(hookRecorded(spool, [] { launch(); }));
    ASSERT_EQ(coverage.size(), 1u);
    EXPECT_EQ(coverage[0].state, static_cast<std::uint32_t>(raw::CoverageState::Complete));
}

TEST(Framework, KnowsLibrariesWithCachingAllocators) {
    EXPECT_STREQ(cachingAllocatorIn("/v/site-packages/torch/lib/libc10_cuda.so"), "PyTorch");
    EXPECT_STREQ(cachingAllocatorIn("/v/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so"), "JAX");
    EXPECT_STREQ(cachingAllocatorIn("/v/site-packages/cupy/cuda/memory.so"), "CuPy");
    EXPECT_EQ(cachingAllocatorIn("/v/site-packages/torch/lib/libtorch_cpu.so"), nullptr);
    EXPECT_EQ(cachingAllocatorIn("/usr/lib/libcuda.so.1"), nullptr);
}

TEST(Framework, TheStatusTellsWhatAHookWaitsFor) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([] {
        const gd_rt_status before = statusNow();
        gd_rt_range step{};
        step.size = sizeof step;
        step.op = GD_RT_RANGE_PUSH;
        step.name = "step";
        hookTable().range(&step);
        gd_rt_exec exec{};
        exec.size = sizeof exec;
        exec.exec = 2;
        hookTable().exec(GD_RT_CREATED, &exec);
        launch();
        launch();
        const gd_rt_status inside = statusNow();
        step.op = GD_RT_RANGE_POP;
        hookTable().range(&step);
        const gd_rt_status after = statusNow();
        const bool right = before.size == sizeof before && before.level >= 3 && before.execs == 0
            && before.window == 0 && inside.open_steps == 1 && inside.execs == 1 && inside.replays == 2
            && after.open_steps == 0;
        // A hook of an older version has a shorter struct.
        gd_rt_status shorter{};
        shorter.size = 8;
        shorter.execs = 99;
        hookTable().status(&shorter);
        _exit(right && shorter.level == after.level && shorter.execs == 99 ? 0 : 1);
    }),
        0);
}

// CUPTI's injection and NVTX's come on whatever threads make the first calls.
TEST(Framework, SourcesThatComeAtOnceAreAllKept) {
    static SourceHooks hooks[4];
    for (int i = 0; i < 300; ++i) {
        SpoolBuilder spool;
        ASSERT_EQ(spool.run([] {
            const unsigned before = sourceCount();
            std::atomic<int> ready{0};
            std::vector<std::thread> threads;
            for (SourceHooks& one : hooks) {
                threads.emplace_back([&] {
                    for (++ready; ready != 4;) { }
                    registerSource(&one);
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
            _exit(sourceCount() == before + 4 ? 0 : 1);
        }),
            0);
    }
}

TEST(Framework, OtherProfilersAreTheSourcesBusiness) {
    static bool wasActive = false;
    static constexpr SourceHooks kHooks{nullptr, nullptr, nullptr, nullptr, false, [](bool active) noexcept {
                                            wasActive = active;
                                            return active;
                                        }};
    EXPECT_EQ(hookTable().other_profiler(1), 0u); // nobody has to do with it
    registerSource(&kHooks);
    EXPECT_EQ(hookTable().other_profiler(1), 1u);
    EXPECT_TRUE(wasActive);
    EXPECT_EQ(hookTable().other_profiler(0), 0u);
    EXPECT_FALSE(wasActive);
}

} // namespace gd::session
