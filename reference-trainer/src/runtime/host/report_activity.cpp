// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/report_detail.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace gdt::runtime::host {

namespace {

struct DescribeActivity {
    gd_rt_activity& activity;

    void operator()(const KernelOperation& kernel) const {
        activity.kind = GD_RT_ACTIVITY_KERNEL;
        activity.function = kernel.kernel->name;
        setShape(activity.grid, activity.block, kernel.grid);
        activity.shared_bytes = kernel.grid.sharedBytes;
    }
    void operator()(const CopyOperation& copy) const {
        activity.kind = GD_RT_ACTIVITY_MEMCPY;
        activity.copy_kind = copyKind(copy.kind);
        activity.bytes = copy.bytes;
    }
    void operator()(const FillOperation& fill) const {
        activity.kind = GD_RT_ACTIVITY_MEMSET;
        activity.bytes = fill.bytes;
    }
    void operator()(const HostOperation&) const { activity.kind = GD_RT_ACTIVITY_HOST_FUNC; }
    void operator()(const CommOperation& comm) const {
        activity.kind = GD_RT_ACTIVITY_COMM;
        const runtime::CommArguments& arguments = comm.call.arguments;
        activity.function = arguments.modelled ? modelledCommName(arguments.kind) : commName(arguments.kind);
        activity.bytes = comm.call.arguments.messageBytes;
    }
    void operator()(const AllocOperation&) const { }
    void operator()(const ReleaseOperation&) const { }
    void operator()(const RecordOperation&) const { }
    void operator()(const WaitMarkerOperation&) const { }
    void operator()(const WaitPointOperation&) const { }
    void operator()(const ReplayOperation&) const { }
};

} // namespace

void reportSync(
    const DeviceState& device, std::uint64_t stream, std::uint64_t correlation, std::int64_t startNs) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    auto record = sized<gd_rt_activity>();
    record.kind = GD_RT_ACTIVITY_SYNC;
    record.start_ns = startNs;
    record.end_ns = nowNs();
    record.correlation = correlation;
    record.stream = stream;
    record.device = ordinal(device);
    table->activity(&record);
}

void reportReplay(const StreamState& stream, std::uint64_t exec, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs) {
    auto record = sized<gd_rt_activity>();
    record.kind = GD_RT_ACTIVITY_GRAPH;
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.correlation = correlation;
    record.stream = stream.id;
    record.exec = exec;
    record.device = ordinal(*stream.device);
    if (const gd_rt_table* table = tool())
        table->activity(&record);
}

void reportActivity(const StreamState& stream, const Operation& operation, std::uint64_t correlation,
    std::int64_t startNs, std::int64_t endNs, std::uint64_t exec, std::uint64_t node) {
    auto record = sized<gd_rt_activity>();
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.correlation = correlation;
    record.stream = stream.id;
    record.exec = exec;
    record.node = node;
    record.device = ordinal(*stream.device);
    std::visit(DescribeActivity{record}, operation);
    if (const gd_rt_table* table = tool())
        table->activity(&record);
}

std::uint64_t measureWakeupP99Ns() {
    constexpr std::size_t kRounds = 200;
    // A busy machine makes each round long; the largest of fewer delays says as much then.
    constexpr std::int64_t kLimitNs = 100'000'000;
    std::mutex mutex;
    std::condition_variable wake;
    std::int64_t sentNs = 0; // not 0: the sleeper is to wake up
    bool stop = false;
    std::vector<std::uint64_t> delays;
    delays.reserve(kRounds);
    std::thread sleeper([&] {
        std::unique_lock lock(mutex);
        while (true) {
            wake.wait(lock, [&] { return stop || sentNs != 0; });
            if (stop)
                return;
            delays.push_back(static_cast<std::uint64_t>(nowNs() - sentNs));
            sentNs = 0;
            wake.notify_all();
        }
    });
    {
        std::unique_lock lock(mutex);
        const std::int64_t deadlineNs = nowNs() + kLimitNs;
        while (delays.size() < kRounds && (delays.empty() || nowNs() < deadlineNs)) {
            sentNs = nowNs();
            wake.notify_all();
            wake.wait(lock, [&] { return sentNs == 0; });
        }
        stop = true;
        wake.notify_all();
    }
    sleeper.join();
    std::sort(delays.begin(), delays.end());
    return delays[delays.size() * 99 / 100];
}

} // namespace gdt::runtime::host
