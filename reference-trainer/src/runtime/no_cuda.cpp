// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda/ where the program is built without a CUDA toolkit.
#include "runtime/cuda_backend.h"

namespace gdt::runtime::cuda {

int deviceCount() {
    return 0;
}

std::string problem(int) {
    return "this program was built without CUDA; build it where nvcc is found, or use --backend host";
}

Versions versions() {
    return {};
}

std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options) {
    return host::makeDevice(options); // never reached after problem() was asked
}

const backend::ProcessCalls& processCalls() {
    return host::processCalls();
}

} // namespace gdt::runtime::cuda
