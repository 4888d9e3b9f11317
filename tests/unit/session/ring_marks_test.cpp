// SPDX-License-Identifier: Apache-2.0
#include "collector/raw/ring_marks.h"

#include "collector/raw/records_memory.h"
#include "collector/session/session.h"
#include "tests/unit/session/session_test_support.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>
#include <vector>

namespace gd::session {

namespace {

raw::RingMarks marksOf(const test::SpoolBuilder& spool) {
    raw::RingMarks marks{};
    std::ifstream ring(test::SpoolBuilder::ringOf(spool.segments().at(0)), std::ios::binary);
    ring.seekg(raw::kRingMarksOffset);
    ring.read(reinterpret_cast<char*>(&marks), sizeof marks);
    return marks;
}

bool rests(std::uint32_t& doing) {
    return std::atomic_ref(doing).load() == static_cast<std::uint32_t>(raw::Doing::Rest);
}

} // namespace

TEST(RingMarks, OutliveTheProcess) {
    test::SpoolBuilder spool;
    spool.run(
        [] {
            sink::alloc(memoryAt(0x1000));
            std::thread([] { sink::alloc(memoryAt(0x2000)); }).join();
            sink::threadMark()->callback = raw::kMarkResource | 5;
            raw::RingMarks& marks = currentSession()->ring.marks();
            eventually([&] { return rests(marks.keeper) && rests(marks.drainer); });
        },
        test::SpoolBuilder::Ending::Kill);
    const raw::RingMarks marks = marksOf(spool);
    EXPECT_NE(marks.keeper, static_cast<std::uint32_t>(raw::Doing::Unknown));
    EXPECT_NE(marks.drainer, static_cast<std::uint32_t>(raw::Doing::Unknown));
    const auto count = [&](auto holds) {
        return std::count_if(std::begin(marks.threads), std::end(marks.threads), holds);
    };
    EXPECT_EQ(count([](const raw::ThreadMark& mark) {
        return mark.thread != 0 && mark.callback == (raw::kMarkResource | 5);
    }),
        1);
    // The collector's own thread has one too; the one that has ended has none.
    EXPECT_EQ(count([](const raw::ThreadMark& mark) { return mark.thread != 0; }), 2);
}

TEST(RingMarks, OfMoreThreadsThanThereIsRoomForLeadNowhere) {
    test::SpoolBuilder spool;
    EXPECT_EQ(spool.run([] {
        constexpr unsigned kThreads = raw::kMarkedThreads + 10;
        std::atomic<unsigned> ready{0};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                sink::alloc(memoryAt(0x1000));
                sink::threadMark()->takesStack = 1;
                for (++ready; ready < kThreads;) {
                    std::this_thread::yield();
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        sink::alloc(memoryAt(0x3000));
    }),
        0);
    EXPECT_EQ(read(spool).historyOf<raw::Alloc>().size(), raw::kMarkedThreads + 11u);
}

} // namespace gd::session
