// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/step_times.h"

#include "analyzer/base/statement.h"
#include "analyzer/store/readers.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace gd::report {
namespace {

// Where the work of a step ended on the devices of its process.
struct StepEnd {
    std::int64_t processId = 0;
    std::int64_t step = 0;
    std::int64_t endNs = 0;
    bool steady = false;
    bool usable = false; // the end is the same point of the step in each step
};

struct ProcessSteps {
    std::optional<std::int64_t> rank;
    std::int64_t startNs = 0, endNs = 0; // steady state
    std::int64_t steady = 0; // steps
    std::int64_t onDevice = 0; // of these with a time on the device
    bool replaysOnly = false; // work outside graphs was never recorded: steps end with their last replay
};

class StepTimeReader {
public:
    explicit StepTimeReader(Db& trace)
        : m_trace(trace) { }

    Result<StepTimes> read() {
        GD_TRY(readProcesses());
        GD_TRY(readHost());
        GD_TRY(readDevice());
        for (const auto& [id, process] : m_processes) {
            if (m_times.whyNotDevice.empty() && process.onDevice * 2 < process.steady)
                m_times.whyNotDevice = missing(id, process);
        }
        return std::move(m_times);
    }

private:
    Result<void> readProcesses() {
        GD_TRY_ASSIGN(const auto coverage, store::CoverageMap::read(m_trace));
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT s.process_id, s.start_ns, s.end_ns, p.rank "
                                    "FROM steady_state AS s LEFT JOIN process AS p USING (process_id)"));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            const base::ProcessId id(rows.int64(0));
            ProcessSteps process;
            process.rank = rows.optionalInt64(3);
            process.startNs = rows.int64(1);
            process.endNs = rows.int64(2);
            process.replaysOnly
                = coverage.best(id, "eager_kernel_activity", process.startNs, process.endNs).state
                == store::CoverageState::absent;
            m_processes[id.value()] = process;
        }
    }

    Result<void> readHost() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT process_id, end_ns - start_ns FROM step WHERE kind = 'steady'"));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            m_times.host.push_back({rows.int64(0), rows.int64(1)});
            ++m_processes[rows.int64(0)].steady;
        }
    }

    // A step without work on any device has no row: the step after it would take the time of both.
    Result<void> readDevice() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT b.process_id, b.step, max(b.end_ns), s.kind = 'steady', "
                                    "min(b.known), sum(b.graph_replays), s.replays "
                                    "FROM device_busy AS b JOIN step AS s USING (process_id, step) "
                                    "GROUP BY b.process_id, b.step ORDER BY b.process_id, b.step"));
        StepEnd before;
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            StepEnd own{rows.int64(0), rows.int64(1), rows.int64(2), rows.int64(3) != 0, false};
            ProcessSteps& process = m_processes[own.processId];
            const std::int64_t measured = rows.int64(5);
            const bool known = rows.int64(4) != 0 || (process.replaysOnly && measured > 0);
            own.usable = known && measured == rows.int64(6);
            const bool follows = before.processId == own.processId && before.step + 1 == own.step;
            if (own.steady && own.usable && follows && before.usable && own.endNs > before.endNs) {
                m_times.device.push_back({own.processId, own.endNs - before.endNs});
                ++process.onDevice;
            }
            before = own;
        }
    }

    static std::string missing(std::int64_t id, const ProcessSteps& process) {
        if (process.rank)
            return fmt::format("device work was recorded throughout {} of the {} steady steps of rank {}",
                process.onDevice, process.steady, *process.rank);
        return fmt::format("device work was recorded throughout {} of the {} steady steps of process {}",
            process.onDevice, process.steady, id);
    }

    Db& m_trace;
    StepTimes m_times;
    std::map<std::int64_t, ProcessSteps> m_processes;
};

} // namespace

Result<StepTimes> readStepTimes(Db& trace) {
    return StepTimeReader(trace).read();
}

} // namespace gd::report
