// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/shm_communicator.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace gdt::comm {

/// Runs `rank` in a process per rank and returns what each gave back. The text is cut at 400 bytes.
inline std::vector<std::string> runRanks(int size, const std::function<std::string(int)>& rank) {
    std::vector<std::array<int, 2>> pipes(static_cast<std::size_t>(size));
    std::vector<pid_t> children;
    for (int i = 0; i < size; ++i) {
        std::array<int, 2>& ends = pipes[static_cast<std::size_t>(i)];
        EXPECT_EQ(pipe(ends.data()), 0);
        const pid_t child = fork();
        if (child == 0) {
            const std::string text = rank(i).substr(0, 400);
            const ssize_t written = write(ends[1], text.data(), text.size());
            _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
        }
        close(ends[1]);
        children.push_back(child);
    }
    std::vector<std::string> results;
    for (int i = 0; i < size; ++i) {
        char text[512] = {};
        std::string all;
        for (ssize_t n = 0; (n = read(pipes[static_cast<std::size_t>(i)][0], text, sizeof(text))) > 0;)
            all.append(text, static_cast<std::size_t>(n));
        close(pipes[static_cast<std::size_t>(i)][0]);
        results.push_back(all);
    }
    for (const pid_t child : children)
        waitpid(child, nullptr, 0);
    return results;
}

inline ShmOptions optionsFor(const gd::test::TemporaryFolder& folder, int rank, int size) {
    ShmOptions options;
    options.folder = folder.path();
    options.rank = rank;
    options.size = size;
    options.timeoutNs = 20'000'000'000;
    return options;
}

/// One rank: device, stream, communicator and a buffer of doubles that starts as rank + 1.
struct Rank {
    Rank(const ShmOptions& options, std::size_t count, double value)
        : device({.memoryBytes = 64 << 20})
        , values(count, value) {
        communicator = createShmCommunicator(options, error);
        GDT_CHECK(runtime::Stream::create(device, stream, runtime::StreamFlags::NonBlocking));
        GDT_CHECK(device.allocate(reinterpret_cast<void**>(&data), count * sizeof(double)));
        GDT_CHECK(device.copy(data, values.data(), count * sizeof(double), runtime::CopyKind::HostToDevice));
    }
    runtime::Status reduce(std::size_t count) {
        return communicator->allReduce(data, data, count, DataType::Float64, ReduceOp::Sum, stream);
    }
    std::vector<double>& read() {
        GDT_CHECK(device.copy(
            values.data(), data, values.size() * sizeof(double), runtime::CopyKind::DeviceToHost));
        return values;
    }

    std::string error;
    runtime::Device device;
    runtime::Stream stream;
    double* data = nullptr;
    std::vector<double> values;
    std::unique_ptr<Communicator> communicator;
};

} // namespace gdt::comm
