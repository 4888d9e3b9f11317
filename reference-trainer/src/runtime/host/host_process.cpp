// SPDX-License-Identifier: Apache-2.0
#include "runtime/backend.h"
#include "runtime/host/capture.h"
#include "runtime/host/report_to_tool.h"

namespace gdt::runtime::host {

namespace {

void report(gd_rt_range_op op, const char* name, std::uint64_t payload, const char* domain) {
    const gd_rt_table* table = tool();
    if (table == nullptr)
        return;
    gd_rt_range record{};
    record.size = sizeof(record);
    record.op = op;
    record.domain = domain;
    record.name = name;
    record.u64 = payload;
    table->range(&record);
}

void push(const char* name, std::uint64_t payload, const char* domain) {
    report(GD_RT_RANGE_PUSH, name, payload, domain);
}

void pop(const char* domain) {
    report(GD_RT_RANGE_POP, nullptr, 0, domain);
}

void mark(const char* name, std::uint64_t payload, const char* domain) {
    report(GD_RT_RANGE_MARK, name, payload, domain);
}

Status exchangeMode(CaptureMode* mode) {
    CallInfo info;
    info.api = GD_API_THREAD_EXCHANGE_STREAM_CAPTURE_MODE;
    info.mode = mode != nullptr ? static_cast<std::uint32_t>(*mode) : 0;
    ApiCall call(info);
    if (mode == nullptr
        || static_cast<std::uint32_t>(*mode) > static_cast<std::uint32_t>(CaptureMode::Relaxed))
        return call.end(Status::InvalidValue);
    *mode = exchangeThreadMode(*mode);
    return call.end(Status::Success);
}

constexpr backend::ProcessCalls kCalls{exchangeMode, push, pop, mark};

} // namespace

const backend::ProcessCalls& processCalls() {
    return kCalls;
}

} // namespace gdt::runtime::host
