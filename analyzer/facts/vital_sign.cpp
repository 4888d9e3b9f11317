// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <span>

namespace gd::facts {
namespace {

enum class Judge { none, lookAbove, lookBelow };

// One figure. The query sees :p, a process or 0 for the whole job, and gives one value or NULL; `source` says
// whose coverage decides whether a missing or partial figure is due to missing data. docs/vital-signs.md
// explains each.
struct Sign {
    const char* name;
    const char* unit;
    const char* source;
    const char* healthy; // NULL none
    Judge judge;
    double limit;
    const char* sql;
    const char* nothing = "nothing to measure"; // why there is no figure of what was recorded
};

constexpr Sign kSigns[] = {
    {"capture.attempts_count", "count", "callbacks", nullptr, Judge::none, 0,
        "SELECT COUNT(*) FROM capture_outcome WHERE :p IN (0, process_id)"},
    {"capture.ended_well_count", "count", "callbacks", nullptr, Judge::none, 0,
        "SELECT COUNT(*) FROM capture_outcome WHERE :p IN (0, process_id) AND state = 'ended_ok'"},
    {"capture.failed_count", "count", "callbacks", "0", Judge::lookAbove, 0,
        "SELECT COUNT(*) FROM capture_outcome WHERE :p IN (0, process_id) AND state = 'ended_error'"},
    {"capture.failed_by_code", "text", "callbacks", nullptr, Judge::none, 0,
        "SELECT group_concat(code || ' ×' || n, ', ') FROM (SELECT COALESCE(fail_result_name, "
        "end_result_name) AS code, "
        "COUNT(*) AS n FROM capture_outcome WHERE :p IN (0, process_id) AND state = 'ended_error' "
        "GROUP BY code ORDER BY n DESC, code)"},
    {"capture.abandoned_count", "count", "callbacks", "0", Judge::lookAbove, 0,
        "SELECT COUNT(*) FROM capture_outcome WHERE :p IN (0, process_id) AND state = 'not_ended'"},
    {"capture.eager_fallback_count", "count", "eager_kernel_activity", "0", Judge::lookAbove, 0,
        "SELECT COALESCE(SUM(eager_runs), 0) FROM fallback WHERE :p IN (0, process_id) AND known "
        "AND reason <> 'beside'"},

    {"nccl.replay_bytes", "bytes", "comm_ops", nullptr, Judge::none, 0,
        "SELECT MAX(bytes) FROM (SELECT SUM(message_bytes) AS bytes FROM nccl_replay "
        "WHERE :p IN (0, process_id) GROUP BY process_id, exec_id)"},
    {"nccl.step_bytes", "bytes", "comm_ops", nullptr, Judge::none, 0,
        "SELECT median(bytes) FROM (SELECT SUM(graph_bytes + eager_bytes) AS bytes FROM nccl_step "
        "WHERE :p IN (0, process_id) AND steady AND known GROUP BY process_id, step)"},
    {"nccl.in_graph_ratio", "ratio", "comm_ops", "close to 1", Judge::lookBelow, 0.8,
        "SELECT 1.0 * SUM(graph_bytes) / NULLIF(SUM(graph_bytes + eager_bytes), 0) FROM nccl_step "
        "WHERE :p IN (0, process_id) AND steady AND known "
        "AND EXISTS (SELECT 1 FROM replay AS r WHERE :p IN (0, r.process_id))"},
    {"nccl.by_communicator", "text", "comm_ops", nullptr, Judge::none, 0,
        "SELECT group_concat(part, ', ') FROM (SELECT printf('%x: %.0f%% of %d bytes', comm_hash, "
        "100.0 * SUM(graph_bytes) / NULLIF(SUM(graph_bytes + eager_bytes), 0), SUM(graph_bytes + "
        "eager_bytes)) AS part "
        "FROM nccl_step WHERE :p IN (0, process_id) AND steady AND known GROUP BY comm_hash "
        "ORDER BY SUM(graph_bytes + eager_bytes) DESC, comm_hash LIMIT 4)"},

    {"replay_gap.p50_ns", "ns", "graph_trace", nullptr, Judge::none, 0,
        "SELECT percentile(end_ns - start_ns, 50) FROM replay_gap WHERE :p IN (0, process_id) AND same_step "
        "AND steady AND "
        "known"},
    {"replay_gap.p99_ns", "ns", "graph_trace", "below 500 us", Judge::lookAbove, 500'000,
        "SELECT percentile(end_ns - start_ns, 99) FROM replay_gap WHERE :p IN (0, process_id) AND same_step "
        "AND steady AND "
        "known"},
    {"replay_gap.max_ns", "ns", "graph_trace", nullptr, Judge::none, 0,
        "SELECT MAX(end_ns - start_ns) FROM replay_gap WHERE :p IN (0, process_id) AND same_step AND steady "
        "AND known"},
    {"replay_gap.share_ratio", "ratio", "graph_trace", "below 5 %", Judge::lookAbove, 0.05,
        "SELECT CASE WHEN (SELECT COUNT(*) FROM replay AS r WHERE :p IN (0, r.process_id)) > 0 THEN "
        "1.0 * COALESCE((SELECT SUM(end_ns - start_ns) FROM replay_gap WHERE :p IN (0, process_id) AND "
        "same_step AND "
        "steady AND known), 0) "
        "/ NULLIF((SELECT SUM(end_ns - start_ns) FROM device_busy WHERE :p IN (0, process_id) AND steady), "
        "0) END"},
    {"replay_gap.above_500us_count", "count", "graph_trace", nullptr, Judge::none, 0,
        "SELECT CASE WHEN (SELECT COUNT(*) FROM replay AS r WHERE :p IN (0, r.process_id)) > 0 THEN "
        "(SELECT COUNT(*) FROM replay_gap WHERE :p IN (0, process_id) AND same_step AND steady AND known "
        "AND end_ns - start_ns > 500000) END"},
    {"replay_gap.cause", "text", "graph_trace", nullptr, Judge::none, 0,
        "SELECT cause FROM replay_gap WHERE :p IN (0, process_id) AND same_step AND steady AND known GROUP "
        "BY cause "
        "ORDER BY SUM(end_ns - start_ns) DESC, cause LIMIT 1"},

    {"gpu_busy.busy_ratio", "ratio", "eager_kernel_activity", "above 85 %", Judge::lookBelow, 0.85,
        "SELECT 1.0 * SUM(busy_ns) / NULLIF(SUM(end_ns - start_ns), 0) FROM device_busy "
        "WHERE :p IN (0, process_id) AND steady AND known"},
    {"gpu_busy.without_nccl_ratio", "ratio", "eager_kernel_activity", nullptr, Judge::none, 0,
        "SELECT CASE WHEN COUNT(*) = COUNT(busy_without_comm_ns) THEN 1.0 * SUM(busy_without_comm_ns) / "
        "NULLIF(SUM(end_ns - start_ns), 0) END FROM device_busy "
        "WHERE :p IN (0, process_id) AND steady AND known",
        "communication inside replays was not measured"},
    {"gpu_busy.in_graphs_ratio", "ratio", "eager_kernel_activity", nullptr, Judge::none, 0,
        "SELECT 1.0 * SUM(MIN(graph_ns, busy_ns)) / NULLIF(SUM(busy_ns), 0) FROM device_busy "
        "WHERE :p IN (0, process_id) AND steady AND known"},
    {"gpu_busy.swing_ratio", "ratio", "eager_kernel_activity", "below 30 %", Judge::lookAbove, 0.3,
        "SELECT MAX(high - low) FROM (SELECT percentile(share, 90) AS high, percentile(share, 10) AS low "
        "FROM (SELECT process_id, device_id, 1.0 * busy_ns / NULLIF(end_ns - start_ns, 0) AS share "
        "FROM device_busy WHERE :p IN (0, process_id) AND steady AND known) GROUP BY process_id, device_id)"},

    {"memory.peak_bytes", "bytes", "memory", nullptr, Judge::none, 0,
        "SELECT COALESCE((SELECT MAX(peak_bytes) FROM memory_step WHERE :p IN (0, process_id) AND known AND "
        "steady), "
        "(SELECT MAX(peak_bytes) FROM memory_step WHERE :p IN (0, process_id) AND known))"},
    {"memory.jump_ratio", "ratio", "memory", "below 15 %", Judge::lookAbove, 0.15,
        "SELECT MAX(abs(peak_bytes - previous_peak_bytes) * 1.0 / NULLIF(MAX(peak_bytes, "
        "previous_peak_bytes), 0)) "
        "FROM memory_step WHERE :p IN (0, process_id) AND steady AND known AND step > "
        "(SELECT MIN(s.step) FROM step AS s WHERE s.process_id = memory_step.process_id AND s.kind = "
        "'steady')"},
    {"memory.graph_reserved_bytes", "bytes", "memory", nullptr, Judge::none, 0,
        "SELECT MAX(graph_reserved_bytes) FROM memory_sample WHERE :p IN (0, process_id)"},
    {"memory.device_share_ratio", "ratio", "memory", "below 70 %", Judge::lookAbove, 0.7,
        "SELECT MAX(share) FROM (SELECT 1.0 * m.peak_bytes / d.memory_bytes AS share FROM memory_step AS m "
        "JOIN device AS d USING (process_id, device_id) WHERE :p IN (0, m.process_id) AND m.known AND "
        "d.memory_bytes > 0 UNION ALL SELECT 1.0 * (total_bytes - free_bytes) / total_bytes FROM "
        "memory_sample WHERE :p IN (0, process_id) AND total_bytes > 0)"},

    {"graph_reuse.execs_count", "count", "callbacks", nullptr, Judge::none, 0,
        "SELECT COUNT(*) FROM exec_reuse WHERE :p IN (0, process_id)"},
    {"graph_reuse.replays_count", "count", "callbacks", nullptr, Judge::none, 0,
        "SELECT COALESCE(SUM(replays), 0) FROM exec_reuse WHERE :p IN (0, process_id)"},
    {"graph_reuse.hit_ratio", "ratio", "eager_kernel_activity", "above 98 %", Judge::lookBelow, 0.92,
        "SELECT 1.0 * replays / NULLIF(replays + eager, 0) FROM "
        "(SELECT COALESCE(SUM(steady_replays), 0) AS replays, COALESCE((SELECT SUM(eager_runs) FROM fallback "
        "WHERE :p IN (0, process_id) AND known AND reason <> 'beside'), 0) AS eager FROM exec_reuse WHERE :p "
        "IN (0, process_id))"},
    {"graph_reuse.captures_after_warmup_count", "count", "callbacks", nullptr, Judge::none, 0,
        "SELECT SUM(captures) FROM step WHERE :p IN (0, process_id) AND kind <> 'warmup'"},
};

struct Coverage {
    CoverageState state = CoverageState::complete;
    std::string reason;
};

const char* word(CoverageState state) {
    return state == CoverageState::complete ? "complete"
        : state == CoverageState::partial   ? "partial"
                                            : "absent";
}

// Worst state over the process's steady state, or over its life without one.
Coverage coverageOf(const ProcessData& process, std::string_view source) {
    std::int64_t fromNs = process.startNs;
    std::int64_t toNs = process.endNs;
    bool steady = false;
    for (const Step& step : process.steps) {
        if (!step.steady())
            continue;
        fromNs = steady ? fromNs : step.startNs;
        toNs = step.endNs;
        steady = true;
    }
    Coverage result;
    const auto spans = process.coverage.find(source);
    if (spans == process.coverage.end())
        return {CoverageState::absent, "it was not recorded"};
    result.state = process.covered(source, fromNs, toNs);
    for (const CoverageSpan& span : spans->second) {
        if (span.state == result.state && span.fromNs < toNs && span.toNs > fromNs && !span.reason.empty())
            result.reason = span.reason;
    }
    if (result.state != CoverageState::complete && result.reason.empty())
        result.reason = "it was not recorded all the time";
    return result;
}

const char* verdictOf(const Sign& sign, const std::optional<double>& value) {
    if (!value || sign.judge == Judge::none)
        return "none";
    const bool look = sign.judge == Judge::lookAbove ? *value > sign.limit : *value < sign.limit;
    return look ? "look" : "ok";
}

class SignWriter {
public:
    SignWriter(FactContext& context, Statement insert)
        : m_context(context)
        , m_insert(std::move(insert)) { }

    Result<void> write(const Sign& sign, std::int64_t processId, const Coverage& coverage) {
        GD_TRY_ASSIGN(auto select, m_context.db.prepare(sign.sql));
        select.bind(":p", processId);
        // Sums can overflow in forged traces only: such a figure is missing, the others are not.
        const Result<bool> row = select.step();
        std::optional<double> value;
        std::optional<std::string> text;
        const bool isText = std::string_view(sign.unit) == "text";
        if (row && *row && coverage.state != CoverageState::absent) {
            if (isText)
                text = select.optionalText(0);
            else
                value = select.optionalReal(0);
        }
        std::optional<std::string> reason = orNull(coverage.reason);
        // Recorded, and still no figure: the job did nothing that it could be taken from.
        if (!value && !text && !reason)
            reason = row ? sign.nothing : row.error().message;
        return m_insert.runWith(processId, sign.name, value, sign.unit, text, word(coverage.state), reason,
            sign.healthy == nullptr ? std::nullopt : std::optional<std::string>(sign.healthy),
            verdictOf(sign, value));
    }

private:
    FactContext& m_context;
    Statement m_insert;
};

// A process that never used a device has no figures, and does not make those of the job worse.
bool hasFigures(const ProcessData& process) {
    return !process.devices.empty() || !process.calls.empty() || !process.replays.empty();
}

} // namespace

Result<void> buildVitalSigns(FactContext& context) {
    GD_TRY_ASSIGN(
        auto insert, context.db.prepare("INSERT INTO vital_sign VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    SignWriter writer(context, std::move(insert));
    for (const Sign& sign : kSigns) {
        Coverage job;
        bool any = false;
        for (const ProcessData& process : context.raw.processes) {
            if (!hasFigures(process))
                continue;
            const Coverage own = coverageOf(process, sign.source);
            if (!any || own.state < job.state)
                job = own;
            any = true;
            GD_TRY(writer.write(sign, process.processId, own));
        }
        if (any)
            GD_TRY(writer.write(sign, 0, job));
    }
    return {};
}

} // namespace gd::facts
