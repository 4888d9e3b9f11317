// SPDX-License-Identifier: Apache-2.0
#include "runtime/version.h"

#include "runtime/cuda_backend.h"

#include <atomic>

namespace gdt::runtime {

namespace {

constexpr int kHostRules = 13000; // the driver that tests/e2e/probes asked

std::atomic<int>& overridden() {
    static std::atomic<int> version{0}; // 0: not
    return version;
}

} // namespace

Versions versions(Backend backend) {
    Versions found = backend == Backend::Cuda ? cuda::versions() : Versions{kHostRules, kHostRules};
    if (const int version = overridden().load(); version != 0) {
        found.runtime = version;
    }
    return found;
}

void overrideVersion(int version) {
    overridden().store(version);
}

std::string versionText(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string versionProblem(const Versions& versions) {
    if (versions.built / 1000 == versions.runtime / 1000) {
        return {};
    }
    return "this program was built for CUDA " + versionText(versions.built)
        + " and the runtime says it is CUDA " + versionText(versions.runtime);
}

} // namespace gdt::runtime
