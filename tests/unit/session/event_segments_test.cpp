// SPDX-License-Identifier: Apache-2.0
#include "collector/session/event_segments.h"

#include "collector/session/system.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/resource.h>
#include <vector>

namespace gd::session {

namespace {

namespace fs = std::filesystem;

struct Piece {
    std::uint64_t number = 0;
    std::int64_t sinceNs = 0;
    std::vector<std::uint64_t> chunks; ///< sequences
    std::uint64_t bytes = 0;
};

/// What lies on disk, by number.
std::vector<Piece> piecesIn(const fs::path& folder) {
    std::vector<Piece> pieces;
    for (const auto& entry : fs::directory_iterator(folder)) {
        Piece piece;
        unsigned long long number = 0;
        long long since = 0;
        const std::string name = entry.path().filename().string();
        if (std::sscanf(name.c_str(), "p.%llu.%lld.events", &number, &since) != 2) {
            continue;
        }
        piece.number = number;
        piece.sinceNs = since;
        std::ifstream file(entry.path(), std::ios::binary);
        raw::ChunkHeader header{};
        while (file.read(reinterpret_cast<char*>(&header), sizeof header)) {
            EXPECT_EQ(header.magic, raw::kChunkMagic);
            piece.chunks.push_back(header.chunkSequence);
            file.seekg(header.usedBytes, std::ios::cur);
        }
        piece.bytes = fs::file_size(entry.path());
        pieces.push_back(piece);
    }
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    return pieces;
}

/// Appends chunks of random sizes at random times and looks at the folder after each.
class Writer {
public:
    explicit Writer(const SizeLimits& limits)
        : m_limits(limits) {
        EXPECT_TRUE(m_events->open((m_folder.path() / "p.seg").c_str(), limits, 1000));
    }

    void append(std::uint32_t bytes, std::int64_t afterNs, std::uint64_t historyBytes = 0) {
        m_nowNs += afterNs;
        raw::ChunkHeader header{};
        header.magic = raw::kChunkMagic;
        header.chunkSequence = m_times.size();
        header.usedBytes = bytes;
        const std::vector<char> payload(bytes);
        m_times.push_back(m_nowNs);
        m_sizes.push_back(bytes + sizeof header);
        ASSERT_TRUE(m_events->append(header, payload.data(), m_nowNs, historyBytes));
    }

    /// What must hold after every append, killed or not.
    void check(std::uint64_t budget) const {
        const std::vector<Piece> pieces = piecesIn(m_folder.path());
        ASSERT_FALSE(pieces.empty());
        std::vector<std::uint64_t> kept;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            EXPECT_EQ(pieces[i].number, pieces[0].number + i) << "only the oldest pieces go";
            kept.insert(kept.end(), pieces[i].chunks.begin(), pieces[i].chunks.end());
            bytes += pieces[i].bytes;
        }
        ASSERT_FALSE(kept.empty());
        EXPECT_EQ(kept.back(), m_times.size() - 1) << "the latest is always there";
        for (std::size_t i = 1; i < kept.size(); ++i) {
            EXPECT_EQ(kept[i], kept[i - 1] + 1);
        }
        EXPECT_EQ(pieces[0].number != 0, kept.front() != 0) << "the name says whether anything is missing";
        for (std::uint64_t i = 0; i < kept.front(); ++i) {
            EXPECT_LE(m_times[i], pieces[0].sinceNs) << "what is missing is older than the name says";
        }
        if (pieces.size() > 1) {
            EXPECT_LE(bytes, budget);
        }
        checkKept(kept.front(), bytes, budget);
    }

    const fs::path& folder() const { return m_folder.path(); }
    std::size_t count() const { return m_times.size(); }

private:
    // Not more than needed is removed: less than a piece and a chunk below the limit.
    void checkKept(std::uint64_t first, std::uint64_t bytes, std::uint64_t budget) const {
        if (first == 0) {
            return;
        }
        const bool inTime = m_limits.keptNs != 0 && m_nowNs - m_times[first - 1] > m_limits.keptNs;
        const std::uint64_t largest = *std::max_element(m_sizes.begin(), m_sizes.end());
        EXPECT_TRUE(inTime || bytes + budget / 8 + 3 * largest >= budget) << bytes << " of " << budget;
        if (m_limits.keptNs != 0 && m_limits.keptBytes == 0 && m_limits.totalBytes == 0) {
            EXPECT_LT(m_times[first - 1], m_nowNs - m_limits.keptNs) << "everything of that time is kept";
        }
    }

    test::TemporaryFolder m_folder;
    SizeLimits m_limits;
    std::unique_ptr<EventSegments> m_events = std::make_unique<EventSegments>();
    std::vector<std::int64_t> m_times;
    std::vector<std::uint64_t> m_sizes;
    std::int64_t m_nowNs = 1000;
};

} // namespace

TEST(SizeLimits, ReadsWhatTheCommandLineWrites) {
    const SizeLimits limits = SizeLimits::from("size=4000000000,keep_ns=60000000000");
    EXPECT_EQ(limits.totalBytes, 4'000'000'000u);
    EXPECT_EQ(limits.keptNs, 60'000'000'000);
    EXPECT_EQ(limits.keptBytes, 0u);
    EXPECT_EQ(limits.historyBytes(), 1'000'000'000u);
    EXPECT_EQ(SizeLimits::from("keep=5").keptBytes, 5u);
    for (const char* text : {static_cast<const char*>(nullptr), "", "size=", "size=x,keep", ",,,"}) {
        const SizeLimits none = SizeLimits::from(text);
        EXPECT_EQ(none.totalBytes + none.keptBytes + static_cast<std::uint64_t>(none.keptNs), 0u);
    }
}

TEST(EventSegments, WithoutALimitThereIsOnePiece) {
    Writer writer({});
    for (int i = 0; i < 100; ++i) {
        writer.append(1000, 1'000'000'000);
    }
    const auto pieces = piecesIn(writer.folder());
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].number, 0u);
    EXPECT_EQ(pieces[0].chunks.size(), 100u);
}

TEST(EventSegments, KeepsTheLatestOfEverySizeAndTime) {
    std::mt19937 engine(20261130);
    const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
    int shortened = 0;
    for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        SizeLimits limits;
        limits.keptBytes = round % 3 != 1 ? 2000 + random() % 60'000 : 0;
        limits.keptNs = round % 3 != 0 ? 1 + static_cast<std::int64_t>(random() % 5000) : 0;
        limits.totalBytes = round % 4 == 3 ? 4000 + random() % 60'000 : 0;
        Writer writer(limits);
        std::uint64_t history = 0;
        for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i) {
            history += random() % 100;
            std::uint64_t budget = limits.keptBytes != 0 ? limits.keptBytes : UINT64_MAX;
            if (limits.totalBytes != 0) {
                budget = std::min(budget, limits.totalBytes > history ? limits.totalBytes - history : 0);
            }
            writer.append(8 * (1 + random() % 200), random() % 100, history);
            writer.check(budget);
        }
        shortened += piecesIn(writer.folder()).front().number != 0 ? 1 : 0;
    }
    EXPECT_GT(shortened, 20) << "rounds that had to let something go";
}

TEST(EventSegments, AHangKeepsWhatCameBeforeIt) {
    SizeLimits limits;
    limits.keptNs = 1000;
    Writer writer(limits);
    for (int i = 0; i < 50; ++i) {
        writer.append(80, 10);
    }
    const std::size_t before = piecesIn(writer.folder()).size();
    EXPECT_GT(before, 1u);
    // Nothing is removed while nothing is written, however long that takes; then the latest counts.
    writer.append(80, 1'000'000'000);
    EXPECT_EQ(piecesIn(writer.folder()).size(), 1u);
}

TEST(EventSegments, GoesOnInOnePieceWhenTheJobHasUsedUpItsDescriptors) {
    SizeLimits limits;
    limits.keptBytes = 4000;
    Writer writer(limits);
    writer.append(80, 10);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{3, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100; ++i) {
        writer.append(80, 10);
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(piecesIn(writer.folder()).front().chunks.size(), 101u);
    writer.append(80, 10);
    EXPECT_EQ(piecesIn(writer.folder()).front().number, 1u) << "too much: the old piece went";
}

} // namespace gd::session
