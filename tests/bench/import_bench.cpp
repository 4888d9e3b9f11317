// SPDX-License-Identifier: Apache-2.0
// Import of device records, end to end: segment -> sorted rows in a trace.
//   import_bench [--check] [--keep TRACE] [records]
// Prints records a second (of wall and of processor time) and bytes of trace a record; a control,
// checksumming the same segment, tells a slow machine from a slow importer. --check: fails when the budgets
// are missed, with 5 x slack for the time.
#include "analyzer/import/importer.h"
#include "tests/support/spool_writer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace gd {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// 2 devices x 3 streams, replays of 200 nodes with 10 % eager kernels between them, 800 launch shapes,
// neighbours out of order as CUPTI delivers them.
void writeSpool(const std::filesystem::path& folder, std::size_t count) {
    test::SpoolWriter spool(folder);
    spool.start();
    for (std::uint32_t shape = 1; shape <= 800; ++shape) {
        raw::KernelShape record{};
        record.shape = shape;
        record.name = spool.string(fmt::format("_ZN2at6native6kernelILi{}EEEvPf", shape / 4));
        record.grid[0] = shape;
        record.block[0] = 256;
        spool.history(record);
    }
    std::mt19937 random(7);
    std::int64_t nowNs[6];
    std::fill(std::begin(nowNs), std::end(nowNs), spool.startNs());
    std::uint64_t correlation = 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t inReplay = i % 220;
        const bool isNode = inReplay < 200;
        if (inReplay == 0 || !isNode)
            ++correlation;
        const auto track = static_cast<std::uint32_t>(i / 220 % 6);
        const auto durationNs = static_cast<std::int64_t>(1000 + random() % 4000);
        raw::Kernel kernel{};
        const std::int64_t jitterNs = static_cast<std::int64_t>(random() % 3000);
        kernel.startNs = nowNs[track] + jitterNs;
        kernel.endNs = kernel.startNs + durationNs;
        nowNs[track] += durationNs + 500;
        kernel.node = isNode ? (std::uint64_t{2 + track} << 32 | inReplay) : 0;
        kernel.exec = isNode ? 2 + track : 0;
        kernel.correlation = correlation;
        kernel.shape = static_cast<raw::ShapeRef>(1 + random() % 800);
        kernel.stream = 7 + track % 3;
        kernel.device = static_cast<std::uint16_t>(track / 3);
        spool.event(2, kernel);
    }
    spool.end(*std::max_element(std::begin(nowNs), std::end(nowNs)));
    spool.writeSegment();
}

double controlSeconds(const std::filesystem::path& segment) {
    std::ifstream file(segment, std::ios::binary);
    std::vector<char> buffer(1 << 20);
    const auto start = Clock::now();
    std::uint64_t sum = 0;
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0)
        sum += raw::mixWords(1, buffer.data(), static_cast<std::size_t>(file.gcount()));
    return sum == 1 ? 0 : secondsSince(start);
}

struct Run {
    double wallSeconds;
    double cpuSeconds;
};

double cpuSeconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

int bench(std::size_t count, bool check, const char* keep) {
    const auto folder
        = std::filesystem::temp_directory_path() / fmt::format("gd-import-bench-{}", ::getpid());
    writeSpool(folder, count);
    const std::vector<std::filesystem::path> folders{folder};
    std::vector<Run> runs;
    std::uint64_t bytes = 0;
    for (int i = 0; i < 5; ++i) {
        const double cpuStart = cpuSeconds();
        const auto start = Clock::now();
        importer::ImportOptions options;
        options.force = true;
        const auto summary = importer::importSpools(folders, folder / "out.gdt", options);
        if (!summary || summary->records < count) {
            fmt::print(
                stderr, "import_bench: {}\n", summary ? "records are missing" : summary.error().message);
            return 1;
        }
        runs.push_back({secondsSince(start), cpuSeconds() - cpuStart});
        bytes = summary->traceBytes;
    }
    double control = 1e9;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        for (int i = 0; i < 3 && entry.path().extension() == raw::kSegmentSuffix; ++i)
            control = std::min(control, controlSeconds(entry.path()));
    }
    if (keep != nullptr) {
        std::filesystem::copy_file(
            folder / "out.gdt", keep, std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove_all(folder);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto middle = [&runs](double Run::*field) {
        std::sort(
            runs.begin(), runs.end(), [field](const Run& a, const Run& b) { return a.*field < b.*field; });
        return runs[runs.size() / 2].*field;
    };
    const auto records = static_cast<double>(count);
    const double wall = middle(&Run::wallSeconds);
    const double cpu = middle(&Run::cpuSeconds);
    const double perRecord = static_cast<double>(bytes) / records;
    fmt::print(
        "import: {} kernel records, median of {} runs {:.2f} s: {:.2f} M records/s ({:.2f} M a second of "
        "processor time), {:.1f} bytes of trace a record, {} MiB resident at most (the writer of the spool "
        "included)\n",
        count, runs.size(), wall, records / wall / 1e6, records / cpu / 1e6, perRecord,
        usage.ru_maxrss / 1024);
    fmt::print(
        "control: reading and checksumming the segment takes {:.3f} s, the import {:.1f} times as long\n",
        control, wall / control);
    constexpr double kRecordsPerSecond = 1.5e6;
    constexpr double kBytesPerRecord = 40;
    const bool good = perRecord <= kBytesPerRecord && records / cpu >= kRecordsPerSecond / 5;
    if (check && !good)
        fmt::print(stderr,
            "import_bench: expected at least {:.1f} M records/s and at most {} bytes a record\n",
            kRecordsPerSecond / 5e6, kBytesPerRecord);
    return check && !good ? 1 : 0;
}

} // namespace
} // namespace gd

int main(int argc, char** argv) {
    bool check = false;
    const char* keep = nullptr;
    std::size_t count = 3'000'000;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--check") == 0)
            check = true;
        else if (std::strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
            keep = argv[++i];
        else
            count = std::strtoull(argv[i], nullptr, 10);
    }
    return gd::bench(count, check, keep);
}
