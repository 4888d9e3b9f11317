// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gd::report {

bool waitsForAll(const std::string& kind) {
    constexpr std::array<std::string_view, 4> kKinds{
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

bool isMessage(std::string_view kind) {
    return kind == "send" || kind == "recv";
}

bool isCollective(const std::string& kind) {
    return waitsForAll(kind) || kind == "broadcast" || kind == "reduce";
}

bool isOneSided(std::string_view kernelName) {
    const auto holds = [&](std::string_view word) { return kernelName.find(word) != std::string_view::npos; };
    return (holds("Send") || kernelName == "send") != (holds("Recv") || kernelName == "recv");
}

CommCalls::CommCalls() {
    add({});
}

std::uint32_t CommCalls::add(const CommCall& call) {
    const auto [at, isNew] = m_numbers.try_emplace(call, static_cast<std::uint32_t>(m_calls.size()));
    if (isNew)
        m_calls.push_back(call);
    return at->second;
}

} // namespace gd::report
