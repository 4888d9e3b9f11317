// SPDX-License-Identifier: Apache-2.0
#include "runtime/range.h"

#include "runtime/host/report_to_tool.h"

namespace gdt::runtime {

namespace {

void report(gd_rt_range_op op, const char* name, std::uint64_t payload, const char* domain) {
    const gd_rt_table* table = host::tool();
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

} // namespace

void rangePush(const char* name, std::uint64_t payload, const char* domain) {
    report(GD_RT_RANGE_PUSH, name, payload, domain);
}

void rangePop(const char* domain) {
    report(GD_RT_RANGE_POP, nullptr, 0, domain);
}

void rangeMark(const char* name, std::uint64_t payload, const char* domain) {
    report(GD_RT_RANGE_MARK, name, payload, domain);
}

} // namespace gdt::runtime
