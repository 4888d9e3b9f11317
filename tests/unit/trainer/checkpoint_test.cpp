// SPDX-License-Identifier: Apache-2.0
// Files of a checkpoint that were damaged or put in the place of others.
#include "train/checkpoint.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace {

using gdt::train::Checkpoint;
using gdt::train::RunConfig;

struct CheckpointFile : ::testing::Test {
    gd::test::TemporaryFolder folder;
    std::string points = (folder.path() / "points").string();
    std::array<double, 3> first{1.5, -2.25, 3.0};
    std::array<float, 2> second{0.5F, 7.0F};

    std::vector<Checkpoint::Part> parts() {
        return {{first.data(), sizeof(first)}, {second.data(), sizeof(second)}};
    }
    // Two ranks save at `step`.
    void save(std::int64_t step) {
        std::string problem;
        for (const int rank : {0, 1}) {
            ASSERT_TRUE(Checkpoint(RunConfig(), rank).write(points, step, parts(), problem)) << problem;
        }
        ASSERT_TRUE(Checkpoint(RunConfig(), 0).commit(points, step, problem)) << problem;
    }
    [[nodiscard]] std::filesystem::path file(int step, int rank) const {
        return folder.path() / "points" / ("step-" + std::to_string(step))
            / ("rank-" + std::to_string(rank) + ".ckpt");
    }
    // What is said about rank's file; nothing when it is taken.
    std::string refused(int rank) {
        std::int64_t step = -1;
        std::string problem;
        const bool taken = Checkpoint(RunConfig(), rank).read(points, parts(), step, problem);
        EXPECT_EQ(taken, problem.empty());
        return problem;
    }
};

TEST_F(CheckpointFile, ReturnsWhatWasWritten) {
    save(7);
    first.fill(0);
    second.fill(0);
    std::int64_t step = -1;
    std::string problem;
    ASSERT_TRUE(Checkpoint(RunConfig(), 1).read(points, parts(), step, problem)) << problem;
    EXPECT_EQ(step, 7);
    EXPECT_EQ(first, (std::array<double, 3>{1.5, -2.25, 3.0}));
    EXPECT_EQ(second, (std::array<float, 2>{0.5F, 7.0F}));
}

TEST_F(CheckpointFile, IsRefusedWithAnyBitChangedAndAnyLength) {
    save(7);
    const auto path = file(7, 1);
    std::ifstream in(path, std::ios::binary);
    const std::string good(std::istreambuf_iterator<char>(in), {});
    const auto put
        = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; };
    ASSERT_GT(good.size(), sizeof(Checkpoint::Header));
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        const auto at = static_cast<std::streamoff>(bit / 8);
        const auto putByte = [&](int value) {
            std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
                .seekp(at)
                .put(static_cast<char>(value));
        };
        putByte(good[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_NE(refused(1), "") << "bit " << bit;
        putByte(good[bit / 8]);
    }
    for (std::size_t length = 0; length < good.size(); ++length) {
        put(good.substr(0, length));
        EXPECT_NE(refused(1), "") << length << " bytes";
    }
    put(good + '\0');
    EXPECT_NE(refused(1), "");
    put(good);
    EXPECT_EQ(refused(1), "");
}

TEST_F(CheckpointFile, OfAnotherRankIsRefused) {
    save(7);
    std::filesystem::copy_file(file(7, 0), file(7, 1), std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(refused(1), "checkpoint " + file(7, 1).string() + " was written by rank 0");
    EXPECT_EQ(refused(0), "");
}

TEST_F(CheckpointFile, OfAnotherStepThanRankZerosIsRefused) {
    save(7);
    save(9);
    std::filesystem::copy_file(file(7, 1), file(9, 1), std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(refused(1), "checkpoint " + file(9, 1).string() + " is of step 7, that of rank 0 of step 9");
}

TEST_F(CheckpointFile, PipesAreNotWaitedFor) {
    save(7);
    std::filesystem::remove(file(7, 1));
    ASSERT_EQ(::mkfifo(file(7, 1).c_str(), 0600), 0);
    EXPECT_EQ(refused(1), "checkpoint " + file(7, 1).string() + " cannot be read: it is a pipe or a device");
    std::filesystem::remove(folder.path() / "points" / "latest");
    ASSERT_EQ(::mkfifo((folder.path() / "points" / "latest").c_str(), 0600), 0);
    EXPECT_EQ(refused(0), "checkpoint " + points + "/latest does not name a checkpoint: step-N is expected");
}

} // namespace
