// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gd::report {

// What is known of the call that a communication kernel runs.
struct CommCall {
    std::int64_t commHash = 0; // 0: which communicator is not known
    std::string kind; // of nccl_op, "all_reduce"; "group of 3"; empty: not known
    std::int64_t bytes = 0;
    std::int64_t peer = -1; // root or peer, a rank of the communicator

    auto operator<=>(const CommCall&) const = default;
};

// Ranks leave these together: nobody is done before all have come.
bool waitsForAll(const std::string& kind);
bool isMessage(std::string_view kind); // a send or a receive
bool isCollective(const std::string& kind);
// By the name of its kernel a send or a receive, which no other rank runs under the same name.
bool isOneSided(std::string_view kernelName);

// Different calls, each once, so that the kernels of a thousand replays share one. Number 0 is "not known".
class CommCalls {
public:
    CommCalls();
    std::uint32_t add(const CommCall& call);
    const CommCall& operator[](std::uint32_t number) const { return m_calls[number]; }

private:
    std::vector<CommCall> m_calls;
    std::map<CommCall, std::uint32_t> m_numbers;
};

// A communication kernel as the device ran it. Times are ns of the trace clock.
struct CommKernel {
    std::int64_t process = 0;
    std::int64_t rowId = 0; // of table kernel
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t name = 0; // equal for kernels of one name, in all processes
    std::int64_t stream = -1; // -1: not known
    std::int64_t node = -1; // of the executable, -1: outside graphs
    std::uint32_t call = 0; // in CommCalls
    bool oneSided = false; // see isOneSided()
};

} // namespace gd::report
