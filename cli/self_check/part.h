// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gd::self_check {

// What a part of the built-in job did in its own process; what was recorded of it is judged elsewhere.
struct Outcome {
    enum class Kind { ran, absent, failed };
    Kind kind = Kind::ran;
    std::string detail; // one clause: what ran, or what is missing
    std::string remedy; // absent, failed: what to do; empty = nothing
};

inline Outcome ran(std::string detail) {
    return {Outcome::Kind::ran, std::move(detail), {}};
}
inline Outcome absent(std::string detail, std::string remedy) {
    return {Outcome::Kind::absent, std::move(detail), std::move(remedy)};
}
inline Outcome failed(std::string detail, std::string remedy) {
    return {Outcome::Kind::failed, std::move(detail), std::move(remedy)};
}

// So many calls, ranges and replays each part makes: all of them must be in the trace.
inline constexpr int kCalls = 20;

Outcome runRuntime(); // the tool interface, as a runtime that is not CUDA
Outcome runNvtx();
Outcome runCuda(); // captures a graph and replays it
Outcome runNccl(const char* library); // an all-reduce over one rank; `library` may be empty

} // namespace gd::self_check
