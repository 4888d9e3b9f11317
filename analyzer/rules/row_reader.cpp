// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/row_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace gd::rules {
namespace {

Value valueAt(const Statement& statement, int column) {
    if (statement.isNull(column))
        return {};
    if (statement.isInteger(column))
        return statement.int64(column);
    if (statement.isReal(column))
        return statement.real(column);
    return std::string(statement.text(column));
}

} // namespace

Result<RowReader> RowReader::open(
    const Statement& statement, const RuleFile& rule, std::span<const RuleParam> params) {
    std::set<std::string_view> names;
    for (int i = 0; i < statement.columnCount(); ++i) {
        if (!names.insert(statement.columnName(i)).second)
            return fail(ErrorCode::query, "the query returns the column {} twice", statement.columnName(i));
    }
    for (const std::string_view required : {"process_id", "start_ns", "end_ns"}) {
        if (!names.contains(required))
            return fail(ErrorCode::query, "the query must return a column {}", required);
    }
    for (const std::string& name : rule.messageTemplate.names()) {
        if (!names.contains(name) && rule.param(name) == nullptr)
            return fail(
                ErrorCode::query, "the message uses {{{}}}, which is neither a column nor a parameter", name);
    }
    return RowReader(statement, rule, params);
}

Result<std::optional<std::int64_t>> RowReader::integer(std::string_view column) const {
    const std::optional<int> index = m_statement.columnIndex(column);
    if (!index || m_statement.isNull(*index))
        return std::optional<std::int64_t>();
    if (m_statement.isReal(*index)) {
        const double value = m_statement.real(*index);
        constexpr double kLimit = 9.2e18; // inside int64_t
        if (std::isfinite(value) && std::abs(value) < kLimit)
            return std::optional(static_cast<std::int64_t>(std::llround(value)));
    }
    if (!m_statement.isInteger(*index))
        return fail(ErrorCode::query, "column {} must be an integer or NULL, found \"{}\"", column,
            m_statement.text(*index));
    return std::optional(m_statement.int64(*index));
}

Result<std::optional<std::string>> RowReader::text(std::string_view column) const {
    const std::optional<int> index = m_statement.columnIndex(column);
    if (!index || m_statement.isNull(*index))
        return std::optional<std::string>();
    return std::optional(std::string(m_statement.text(*index)));
}

Result<Finding> RowReader::read() const {
    Finding finding;
    finding.rule = m_rule.id;
    finding.parent = m_rule.parent;
    finding.title = m_rule.title;
    finding.impact = m_rule.impact;
    finding.why = m_rule.why;
    finding.fix = m_rule.fix;
    for (int i = 0; i < m_statement.columnCount(); ++i)
        finding.columns.emplace_back(m_statement.columnName(i), valueAt(m_statement, i));
    GD_TRY(readNumbers(finding));
    GD_TRY(readWords(finding));
    GD_TRY(readRoot(finding));
    GD_TRY(readEvidence(finding));
    GD_TRY(readMessage(finding));
    return finding;
}

Result<void> RowReader::readNumbers(Finding& finding) const {
    GD_TRY_ASSIGN(const auto process, integer("process_id"));
    if (!process)
        return fail(ErrorCode::query, "column process_id must not be NULL");
    finding.processId = base::ProcessId(*process);
    GD_TRY_ASSIGN(finding.startNs, integer("start_ns"));
    GD_TRY_ASSIGN(finding.endNs, integer("end_ns"));
    GD_TRY_ASSIGN(finding.costNs, integer("cost_ns"));
    GD_TRY_ASSIGN(finding.costBytes, integer("cost_bytes"));
    GD_TRY_ASSIGN(finding.step, integer("step"));
    GD_TRY_ASSIGN(const auto thread, integer("thread_id"));
    GD_TRY_ASSIGN(const auto track, integer("track_id"));
    GD_TRY_ASSIGN(const auto stack, integer("stack_id"));
    if (thread)
        finding.threadId = base::ThreadId(*thread);
    if (track)
        finding.trackId = base::TrackId(*track);
    if (stack)
        finding.stackId = base::StackId(*stack);
    return {};
}

Result<void> RowReader::readWords(Finding& finding) const {
    finding.severity = m_rule.severity;
    finding.confidence = m_rule.confidence;
    GD_TRY_ASSIGN(const auto severity, text("severity"));
    if (severity) {
        const auto value = severityFrom(*severity);
        if (!value)
            return fail(
                ErrorCode::query, "column severity must be info, warning or error, found \"{}\"", *severity);
        finding.severity = *value;
    }
    GD_TRY_ASSIGN(const auto confidence, text("confidence"));
    if (confidence) {
        const auto value = confidenceFrom(*confidence);
        if (!value)
            return fail(
                ErrorCode::query, "column confidence must be high, medium or low, found \"{}\"", *confidence);
        finding.confidence = std::min(finding.confidence, *value);
    }
    GD_TRY_ASSIGN(const auto signature, text("graph_signature"));
    finding.graphSignature = signature.value_or("");
    GD_TRY_ASSIGN(const auto mergeKey, text("merge_key"));
    finding.mergeKey = mergeKey.value_or("");
    return {};
}

Result<void> RowReader::readRoot(Finding& finding) const {
    finding.rootKind = m_rule.root;
    GD_TRY_ASSIGN(const auto kind, text("root_kind"));
    if (kind) {
        const auto value = rootKindFrom(*kind);
        if (!value)
            return fail(ErrorCode::query,
                "column root_kind must be capture, exec, comm, step, process_fault or none, found \"{}\"",
                *kind);
        finding.rootKind = *value;
    }
    GD_TRY_ASSIGN(finding.rootId, integer("root_id"));
    const bool oneGroup = finding.rootKind == RootKind::step || finding.rootKind == RootKind::processFault;
    if (oneGroup && !m_statement.columnIndex("root_id"))
        finding.rootId = 0;
    return {};
}

Result<void> RowReader::readEvidence(Finding& finding) const {
    GD_TRY_ASSIGN(const auto table, text("evidence_table"));
    GD_TRY_ASSIGN(const auto id, integer("evidence_id"));
    for (char n = '1'; n <= '9'; ++n) {
        const std::string prefix = std::string("ev") + n;
        const std::optional<int> value = m_statement.columnIndex(prefix + "_value");
        if (!value || m_statement.isNull(*value))
            continue;
        GD_TRY_ASSIGN(const auto label, text(prefix + "_label"));
        GD_TRY_ASSIGN(const auto unit, text(prefix + "_unit"));
        GD_TRY_ASSIGN(const auto ownTable, text(prefix + "_table"));
        GD_TRY_ASSIGN(const auto ownId, integer(prefix + "_id"));
        finding.evidence.push_back({ownTable ? *ownTable : table.value_or(""), ownTable ? ownId : id,
            label.value_or(""), valueAt(m_statement, *value), unit.value_or("")});
    }
    if (finding.evidence.empty() && table)
        finding.evidence.push_back({*table, id, {}, {}, {}});
    return {};
}

Result<void> RowReader::readMessage(Finding& finding) const {
    const auto lookup = [&](std::string_view name) -> const Value* {
        for (const auto& [column, value] : finding.columns) {
            if (column == name)
                return &value;
        }
        const auto param = std::find_if(
            m_params.begin(), m_params.end(), [&](const RuleParam& p) { return p.name == name; });
        return param == m_params.end() ? nullptr : &param->value;
    };
    GD_TRY_ASSIGN(finding.message, m_rule.messageTemplate.render(lookup));
    return {};
}

} // namespace gd::rules
