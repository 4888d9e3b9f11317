// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/client.h"

#include "collector/cupti/cupti_api.h"
#include "collector/cupti/driver_api.h"
#include "collector/cupti/refusal.h"
#include "collector/session/sink.h"

#include <cstdio>
#include <cstring>
#include <string>

#include <dlfcn.h>

namespace gd::cupti {

namespace {

namespace sink = session::sink;

std::string cudaVersion(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string kernelDriverVersion() {
    std::FILE* file = std::fopen("/sys/module/nvidia/version", "re");
    if (file == nullptr) {
        return {};
    }
    char line[64] = {};
    const bool got = std::fgets(line, sizeof line, file) != nullptr;
    std::fclose(file);
    std::string text = got ? line : "";
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    return text;
}

void reportVersions() {
    int version = 0;
    if (driverApi().driverGetVersion(&version) == CUDA_SUCCESS) {
        const std::string module = kernelDriverVersion();
        sink::fact(
            "driver_version", "CUDA " + cudaVersion(version) + (module.empty() ? "" : ", driver " + module));
    }
    std::uint32_t cupti = 0;
    if (cuptiApi().getVersion != nullptr && cuptiApi().getVersion(&cupti) == CUPTI_SUCCESS) {
        sink::fact("cupti_version", std::to_string(cupti));
    }
    int (*runtimeVersion)(int*) = nullptr;
    *reinterpret_cast<void**>(&runtimeVersion) = dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion");
    if (runtimeVersion == nullptr) { // in a library loaded privately, as PyTorch's
        const std::string name = "libcudart.so." + std::to_string(loadedRuntimeMajor());
        if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
            *reinterpret_cast<void**>(&runtimeVersion) = dlsym(library, "cudaRuntimeGetVersion");
        }
    }
    if (runtimeVersion != nullptr && runtimeVersion(&version) == 0) {
        sink::fact("cuda_runtime_version", cudaVersion(version));
    }
}

std::uint16_t attribute(CUdevice_attribute which, CUdevice device) {
    int value = 0;
    return driverApi().deviceGetAttribute != nullptr
            && driverApi().deviceGetAttribute(&value, which, device) == CUDA_SUCCESS
        ? static_cast<std::uint16_t>(value)
        : std::uint16_t{0};
}

void reportDevice(int ordinal) {
    const DriverApi& driver = driverApi();
    CUdevice device = 0;
    char name[128] = {};
    std::size_t memoryBytes = 0;
    if (driver.deviceGet(&device, ordinal) != CUDA_SUCCESS
        || driver.deviceGetName(name, sizeof name - 1, device) != CUDA_SUCCESS
        || driver.deviceTotalMem(&memoryBytes, device) != CUDA_SUCCESS) {
        return;
    }
    char uuid[41] = {};
    CUuuid id{};
    if (driver.deviceGetUuid != nullptr && driver.deviceGetUuid(&id, device) == CUDA_SUCCESS) {
        int at = std::snprintf(uuid, sizeof uuid, "GPU-");
        for (int i = 0; i < 16; ++i) {
            const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
            at += std::snprintf(uuid + at, sizeof uuid - static_cast<std::size_t>(at),
                dash ? "-%02x" : "%02x", static_cast<unsigned char>(id.bytes[i]));
        }
    }
    gd_rt_device out{};
    out.size = sizeof out;
    out.device = static_cast<std::uint32_t>(ordinal);
    out.name = name;
    out.memory_bytes = memoryBytes;
    sink::DeviceExtra extra;
    extra.uuid = uuid;
    extra.ccMajor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    extra.ccMinor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    extra.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    sink::device(out, extra);
}

} // namespace

bool reportProcessFacts() noexcept {
    const InsideGuard guard(ThreadCalls::current());
    const DriverApi& driver = driverApi();
    int count = 0;
    if (driver.driverGetVersion == nullptr || driver.deviceGetCount == nullptr || driver.deviceGet == nullptr
        || driver.deviceGetName == nullptr || driver.deviceTotalMem == nullptr
        || driver.deviceGetCount(&count) != CUDA_SUCCESS) {
        return false;
    }
    for (int i = 0; i < count; ++i) {
        reportDevice(i);
    }
    try {
        reportVersions();
    } catch (...) {
        // no memory
    }
    return true;
}

void reportCoverage(bool looking, const char* reason) noexcept {
    using raw::CoverageSource;
    using raw::CoverageState;
    const auto state = [&](CoverageSource source, CoverageState when, const char* why) {
        sink::coverage(source, looking ? when : CoverageState::Absent, looking ? why : reason);
    };
    const bool allGraphs = !wasRefused(Refusal::Graphs);
    const bool allCalls = allGraphs && !wasRefused(Refusal::Callbacks);
    state(CoverageSource::callbacks, allCalls ? CoverageState::Complete : CoverageState::Partial,
        allCalls ? "" : "CUPTI refused some callbacks");
    if (looking) {
        Client::instance().reportLaunchCoverage();
    } else {
        sink::coverage(CoverageSource::launch_callbacks, CoverageState::Absent, reason);
    }
    state(CoverageSource::node_params, allGraphs ? CoverageState::Complete : CoverageState::Partial,
        allGraphs ? "" : "CUPTI does not tell the numbers of graphs");
    state(CoverageSource::memory, CoverageState::Complete, "");
    // NVTX calls this library when the first range is opened; a job without ranges misses nothing.
    const char* nvtx = sink::variable("NVTX_INJECTION64_PATH");
    const char* own = sink::variable("CUDA_INJECTION64_PATH");
    const bool ours = nvtx != nullptr && own != nullptr && std::strcmp(nvtx, own) == 0;
    sink::coverage(CoverageSource::nvtx, ours ? CoverageState::Complete : CoverageState::Absent,
        ours ? "" : "NVTX_INJECTION64_PATH does not name GraphDoctor");
    if (!ours) { // else the NVTX injection says it itself
        sink::coverage(CoverageSource::nccl_nvtx, CoverageState::Absent,
            "NVTX_INJECTION64_PATH does not name GraphDoctor");
    }
}

} // namespace gd::cupti
