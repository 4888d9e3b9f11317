// SPDX-License-Identifier: Apache-2.0
#include "collector/api/graphdoctor_api_ids.h"
#include "collector/raw/ring_header.h"
#include "tests/unit/import/round_trip_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

namespace gd {
namespace {

std::uint32_t number(raw::Doing doing) {
    return static_cast<std::uint32_t>(doing);
}

// A process that left a ring and whose end the command's outcome tells.
class EndMarks : public test::RoundTrip {
protected:
    // `change` gets the bytes of the ring. Gives what is said of the end, "" = nothing.
    template <class Change> std::string saidOf(int signal, Change change) {
        builder().writeSegmentAndRing(1, 0);
        std::ifstream in(builder().ringPath(), std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        change(bytes);
        std::ofstream(builder().ringPath(), std::ios::binary | std::ios::trunc) << bytes;
        importer::ImportOptions options;
        options.command.emplace();
        options.command->pid = 4711;
        options.command->exitSignal = signal;
        import(options);
        EXPECT_EQ(one("SELECT count(*) FROM process"), "1");
        const auto said = rows("SELECT detail FROM trace_issue WHERE code = 'ended_by_fault'");
        return said.empty() ? "" : said.front();
    }
    std::string saidOf(int signal, const raw::RingMarks& marks) {
        return saidOf(signal, [&](std::string& bytes) {
            std::memcpy(bytes.data() + raw::kRingMarksOffset, &marks, sizeof marks);
        });
    }
};

raw::RingMarks atWork() {
    raw::RingMarks marks{};
    marks.keeper = number(raw::Doing::Sources);
    marks.drainer = number(raw::Doing::Rest);
    marks.threads[0].thread = 1;
    marks.threads[2].thread = 3;
    marks.threads[2].callback = raw::kMarkCall | raw::kMarkExit | GD_API_GRAPH_LAUNCH;
    marks.threads[2].takesStack = 1;
    marks.threads[3].callback = raw::kMarkResource | 5; // of a thread that has ended
    return marks;
}

TEST_F(EndMarks, AFaultNamesWhatTheCollectorWasDoing) {
    EXPECT_EQ(saidOf(SIGSEGV, atWork()),
        "signal 11 ended the process while the collector was at work in it: its keeper thread, calling CUPTI "
        "or "
        "the driver; thread 3 of the job, in the callback at the exit of cuGraphLaunch, walking the stack");
}

TEST_F(EndMarks, AFaultElsewhereIsSaidToo) {
    raw::RingMarks marks{};
    marks.keeper = marks.drainer = number(raw::Doing::Rest);
    marks.threads[0].thread = 1;
    EXPECT_EQ(
        saidOf(SIGBUS, marks), "signal 7 ended the process while nothing of the collector was at work in it");
}

TEST_F(EndMarks, WhoWasKilledRanIntoNothing) {
    EXPECT_EQ(saidOf(SIGKILL, atWork()), "");
}

// Rings of collectors from before these marks: the chunks begin where the marks are now.
TEST_F(EndMarks, AnOlderRingIsReadWithoutThem) {
    builder().fact("framework", "old");
    EXPECT_EQ(saidOf(SIGSEGV,
                  [](std::string& bytes) {
                      bytes.erase(raw::kRingMarksOffset, sizeof(raw::RingMarks));
                      const auto headerBytes = static_cast<std::uint16_t>(raw::kRingMarksOffset);
                      std::memcpy(bytes.data() + offsetof(raw::RingHeader, headerBytes), &headerBytes,
                          sizeof headerBytes);
                  }),
        "");
    EXPECT_EQ(one("SELECT value FROM process_fact WHERE key = 'framework'"), "old");
}

TEST_F(EndMarks, ACollectorThatHadNotBegunSaysNothing) {
    EXPECT_EQ(saidOf(SIGSEGV, raw::RingMarks{}), "");
}

} // namespace
} // namespace gd
