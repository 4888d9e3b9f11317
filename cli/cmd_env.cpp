// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"
#include "cli/run/environment.h"
#include "cli/run/job_identity.h"
#include "cli/run/output_name.h"
#include "cli/run/spool_folder.h"
#include "cli/self_check.h"

#include "analyzer/base/text.h"
#include "analyzer/base/time.h"

#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace gd::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kEnvExamples = "  graphdoctor env\n  graphdoctor env --format json";

std::string firstLineOf(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

Json folderJson(const fs::path& folder) {
    Json out;
    out["path"] = folder.string();
    struct statvfs info = {};
    if (statvfs(folder.c_str(), &info) == 0) {
        out["free_bytes"] = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
        out["writable"] = access(folder.c_str(), W_OK) == 0;
    } else {
        out["free_bytes"] = nullptr;
        out["writable"] = false;
    }
    return out;
}

Json machineJson() {
    Json out;
    out["host"] = run::hostName();
    utsname name = {};
    out["kernel"]
        = uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine) : "";
    out["cpus"] = sysconf(_SC_NPROCESSORS_ONLN);
    out["page_bytes"] = sysconf(_SC_PAGESIZE);
    return out;
}

Json gpuJson() {
    Json out;
    int devices = 0;
    while (fs::exists(fmt::format("/dev/nvidia{}", devices)))
        ++devices;
    out["devices"] = devices;
    out["driver"] = firstLineOf("/proc/driver/nvidia/version");
    // Loading libcuda starts nothing: no cuInit is called.
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    out["libcuda"] = driver != nullptr;
    if (driver != nullptr) {
        using Version = int (*)(int*);
        int version = 0;
        if (const auto get = reinterpret_cast<Version>(dlsym(driver, "cuDriverGetVersion"));
            get != nullptr && get(&version) == 0)
            out["cuda_driver_version"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
        dlclose(driver);
    }
    const std::string home = run::readVariable("CUDA_HOME").value_or("/usr/local/cuda");
    out["toolkit"] = fs::exists(home) ? Json(fs::weakly_canonical(home).string()) : Json(nullptr);
    return out;
}

Json installationJson() {
    const Installation parts = installation();
    const run::CollectorLibrary library = run::inspectCollector(parts.collector);
    Json out;
    out["version"] = GD_VERSION;
    out["collector"] = library.path;
    out["collector_found"] = library.exists;
    out["sources"] = {{"host_runtime", library.runtimeTable}, {"cuda", library.cudaInjection},
        {"nvtx", library.nvtxInjection}, {"nccl_plugin", library.ncclPlugin}};
    out["rules"] = parts.rules.string();
    out["rules_found"] = fs::is_directory(parts.rules);
    return out;
}

Json launcherJson() {
    Json out;
    const auto job = run::identifyJob(run::readVariable);
    out["job"] = job ? Json(job->jobId) : Json(nullptr);
    out["launcher"] = job ? Json(job->launcher) : Json(nullptr);
    const auto rank = run::rankOf(run::readVariable);
    out["rank"] = rank ? Json(*rank) : Json(nullptr);
    return out;
}

Json otherToolsJson() {
    Json out = Json::object();
    for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN",
             "GRAPHDOCTOR_SPOOL", "GRAPHDOCTOR_SPOOL_DIR", "GRAPHDOCTOR_CUPTI"}) {
        const auto value = run::readVariable(name);
        out[name] = value ? Json(*value) : Json(nullptr);
    }
    return out;
}

Json environmentJson() {
    Json out;
    out["schema"] = "graphdoctor.env/1";
    out["installation"] = installationJson();
    out["machine"] = machineJson();
    out["gpu"] = gpuJson();
    out["spool"] = folderJson(run::userFolder(run::readVariable).parent_path());
    const auto rings = run::ringFolders(run::readVariable, "");
    out["ring"] = folderJson(rings.front().parent_path());
    out["launcher"] = launcherJson();
    out["variables"] = otherToolsJson();
    return out;
}

// Each source with what a recording of a built-in job had of it; a string: why there is none.
Json selfCheckJson(const Result<std::vector<SourceCheck>>& checks) {
    if (!checks)
        return checks.error().message;
    Json out = Json::array();
    for (const SourceCheck& check : *checks)
        out.push_back({{"source", check.source}, {"state", stateName(check.state)}, {"detail", check.detail},
            {"remedy", check.remedy}});
    return out;
}

std::string shown(const std::string& key, const Json& value) {
    if (value.is_null() || (value.is_string() && value.get<std::string>().empty()))
        return "–";
    if (value.is_boolean())
        return value.get<bool>() ? "yes" : "no";
    if (value.is_number() && key.ends_with("_bytes"))
        return base::formatBytes(value.get<std::int64_t>());
    return value.is_string() ? base::escapeForTerminal(value.get<std::string>()) : value.dump();
}

void appendText(std::string& out, const Json& object, int depth) {
    for (const auto& [key, value] : object.items()) {
        std::string label(static_cast<std::size_t>(depth) * 2, ' ');
        label += key;
        if (!key.starts_with("GRAPHDOCTOR") && key.find("_PATH") == std::string::npos)
            std::replace(label.begin(), label.end(), '_', ' ');
        if (value.is_object()) {
            out += label + "\n";
            appendText(out, value, depth + 1);
        } else {
            out += fmt::format("{:<26}{}\n", label, shown(key, value));
        }
    }
}

} // namespace

int cmdEnv(const Arguments& arguments) {
    CLI::App app;
    describe(app, "env", "show what this machine offers to a recording", kEnvExamples);
    std::string format = "text";
    app.add_option("--format", format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    bool skipCheck = false;
    app.add_flag("--no-self-check", skipCheck, "do not record the built-in job");
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    Json json = environmentJson();
    std::optional<Result<std::vector<SourceCheck>>> checks;
    if (!skipCheck) {
        checks = checkSources(std::nullopt);
        json["self_check"] = selfCheckJson(*checks);
    }
    if (format == "json")
        return print("env", json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n") ? kOk : kUnusable;
    json.erase("schema");
    json.erase("self_check");
    std::string out;
    appendText(out, json, 0);
    if (checks)
        out += "self check\n" + (*checks ? checkText(**checks, 2) : "  " + checks->error().message + "\n");
    return print("env", out) ? kOk : kUnusable;
}

} // namespace gd::cli
