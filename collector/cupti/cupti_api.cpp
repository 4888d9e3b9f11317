// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/cupti_api.h"

#include "collector/raw/spool_name.h"
#include "collector/stacks/loader_look.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace gd::cupti {

namespace {

CuptiApi g_cupti;

std::vector<std::string> mappedLibraries() {
    std::vector<std::string> paths;
    const stacks::LoaderLook look;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
                static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
            }
            return 0;
        },
        &paths);
    return paths;
}

std::string_view fileName(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string folder(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string(".") : std::string(path.substr(0, slash));
}

// The number after "name.so.", 0 when the file is another one.
int majorOf(std::string_view path, std::string_view name) {
    const std::string_view file = fileName(path);
    const std::string prefix = std::string(name) + ".so.";
    if (file.substr(0, prefix.size()) != prefix) {
        return 0;
    }
    return std::atoi(std::string(file.substr(prefix.size())).c_str());
}

// libcupti's files are called libcupti.so.13 or, followed through links, libcupti.so.2025.3.1.
bool isCupti(std::string_view path, int major) {
    const int number = majorOf(path, "libcupti");
    return number == major || number > 2000;
}

bool privateCopy(std::string_view path) {
    return path.find("/triton/") != std::string_view::npos;
}

void* openFirst(const std::vector<std::string>& candidates, std::string& path) {
    for (const auto& candidate : candidates) {
        if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            path = candidate;
            return library;
        }
    }
    return nullptr;
}

std::vector<std::string> candidatePaths(const std::vector<std::string>& mapped, int major) {
    const std::string name = "libcupti.so." + std::to_string(major);
    std::vector<std::string> paths;
    for (const auto& library : mapped) {
        const std::string_view file = fileName(library);
        const bool cuda = majorOf(library, "libcudart") == major || file.rfind("libcublas", 0) == 0
            || file.rfind("libnvrtc", 0) == 0 || file.rfind("libcudnn", 0) == 0;
        if (cuda && !privateCopy(library)) {
            const std::string beside = folder(library);
            paths.push_back(beside + "/" + name);
            paths.push_back(beside + "/../../cuda_cupti/lib/" + name); // wheels of CUDA 12: one folder each
            paths.push_back(beside + "/../extras/CUPTI/lib64/" + name);
        }
    }
    paths.push_back(name);
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        const char* home = std::getenv(variable);
        if (home != nullptr && home[0] != '\0') {
            paths.push_back(std::string(home) + "/lib64/" + name);
            paths.push_back(std::string(home) + "/extras/CUPTI/lib64/" + name);
        }
    }
    paths.push_back("/usr/local/cuda/lib64/" + name);
    paths.push_back("/usr/local/cuda/extras/CUPTI/lib64/" + name);
    return paths;
}

} // namespace

const CuptiApi& cuptiApi() noexcept {
    return g_cupti;
}

int loadedRuntimeMajor() {
    for (const auto& path : mappedLibraries()) {
        if (const int major = majorOf(path, "libcudart")) {
            return major;
        }
    }
    return 0;
}

std::string chooseMappedCupti(const char* const* mapped, std::size_t count, int major) {
    for (std::size_t i = 0; i < count; ++i) {
        if (isCupti(mapped[i], major) && !privateCopy(mapped[i])) {
            return mapped[i];
        }
    }
    return {};
}

bool loadCuptiApi(int major, std::string& why) {
    void* library = nullptr;
    const char* forced = std::getenv(raw::kEnvCupti);
    if (forced != nullptr && forced[0] != '\0') {
        library = openFirst({forced}, g_cupti.path);
        if (library == nullptr) {
            why = std::string("the library named by ") + raw::kEnvCupti + " cannot be loaded";
            return false;
        }
    } else {
        const auto mapped = mappedLibraries();
        std::vector<const char*> names;
        for (const auto& path : mapped) {
            names.push_back(path.c_str());
        }
        const std::string present = chooseMappedCupti(names.data(), names.size(), major);
        if (!present.empty()) {
            library = dlopen(present.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
            g_cupti.path = present;
        }
        if (library == nullptr) {
            library = openFirst(candidatePaths(mapped, major), g_cupti.path);
        }
    }
    if (library == nullptr) {
        why = "no libcupti.so." + std::to_string(major)
            + " was found beside the job's CUDA libraries or in the toolkit";
        return false;
    }
#define GD_CUPTI_LOOKUP(member, name, ...) *reinterpret_cast<void**>(&g_cupti.member) = dlsym(library, name);
    GD_CUPTI_FUNCTIONS(GD_CUPTI_LOOKUP)
#undef GD_CUPTI_LOOKUP
    const bool complete = g_cupti.getVersion != nullptr && g_cupti.subscribe != nullptr
        && g_cupti.enableCallback != nullptr && g_cupti.getDeviceId != nullptr
        && g_cupti.getGraphId != nullptr && g_cupti.getGraphNodeId != nullptr;
    if (!complete) {
        why = "the libcupti at " + g_cupti.path + " is too old: it lacks functions for graphs";
    }
    return complete;
}

void setCuptiApi(const CuptiApi& api) {
    g_cupti = api;
}

} // namespace gd::cupti
