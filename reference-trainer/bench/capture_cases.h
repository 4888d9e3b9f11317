// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gdt::bench {

/// One case: steps separated by ';', each "[2:] call arguments = code". "2:" runs the step in a second
/// thread. The code is a CUresult number, or the value for the steps status, nodes, counter, hostcode and why
/// (update result).
struct CaptureCase {
    std::string name;
    std::string script;
};

/// Every row of the capture rules, crossed with capture mode and with the calling thread where that matters.
[[nodiscard]] std::vector<CaptureCase> captureCases();

} // namespace gdt::bench
