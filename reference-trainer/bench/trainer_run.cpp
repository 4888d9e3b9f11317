// SPDX-License-Identifier: Apache-2.0
#include "trainer_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include <sys/wait.h>

namespace gdt::bench {

namespace {

using nlohmann::json;

struct Ended {
    int status = -1;
    std::string lastLine; // of stderr
};

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) {
        text += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return text + "'";
}

Ended runProgram(const std::vector<std::string>& words) {
    std::string command = "env -u RANK -u WORLD_SIZE";
    for (const std::string& word : words) {
        command += " " + quoted(word);
    }
    Ended ended;
    std::FILE* pipe = ::popen((command + " 2>&1 >/dev/null").c_str(), "r");
    if (pipe == nullptr) {
        ended.lastLine = "cannot start " + words.front();
        return ended;
    }
    char buffer[4096];
    while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
        ended.lastLine = buffer;
    }
    const int wait = ::pclose(pipe);
    ended.status = WIFEXITED(wait) ? WEXITSTATUS(wait) : 128 + WTERMSIG(wait);
    if (!ended.lastLine.empty() && ended.lastLine.back() == '\n') {
        ended.lastLine.pop_back();
    }
    return ended;
}

struct Log {
    double tokensPerStep = -1;
    std::vector<double> at; // seconds, by step
    double replays = -1, captures = -1, fallbacks = -1;
};

// The number at `path`, such as "/graphs/replays"; -1 where there is none.
double numberAt(const json& document, const char* path) {
    const json::json_pointer place(path);
    return document.contains(place) && document[place].is_number() ? document[place].get<double>() : -1;
}

void addTimes(const json& record, std::vector<double>& at) {
    const auto list = record.find("at");
    for (std::size_t i = 0; list != record.end() && list->is_array() && i < list->size(); ++i) {
        if ((*list)[i].is_number()) {
            at.push_back((*list)[i].get<double>());
        }
    }
}

Log readLog(const std::string& path) {
    Log log;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const json record = json::parse(line, nullptr, false);
        const auto event = record.is_object() ? record.find("event") : record.end();
        if (event == record.end()) {
            continue;
        }
        if (*event == "begin") {
            log.tokensPerStep = numberAt(record, "/tokens_per_step");
        } else if (*event == "times") {
            addTimes(record, log.at);
        } else if (*event == "end") {
            log.replays = numberAt(record, "/graphs/replays");
            log.captures = numberAt(record, "/graphs/captures");
            log.fallbacks = numberAt(record, "/graphs/fallbacks");
        }
    }
    return log;
}

// Empty when the log has all that the figures need, else one sentence.
std::string problemOf(const Log& log, const Windows& windows) {
    if (static_cast<int>(log.at.size()) != windows.total()) {
        return fmt::format("the log holds {} of {} steps", log.at.size(), windows.total());
    }
    if (log.tokensPerStep <= 0) {
        return "the log does not say how many tokens a step has";
    }
    return log.replays < 0 || log.captures < 0 || log.fallbacks < 0 ? "the log does not count graphs" : "";
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void readWindows(const Log& log, const Windows& windows, Measured& result) {
    std::vector<double> rates;
    for (int i = 0; i < windows.count; ++i) {
        const auto first = static_cast<std::size_t>(windows.warmUp + i * windows.steps) - 1;
        const double seconds = log.at[first + static_cast<std::size_t>(windows.steps)] - log.at[first];
        rates.push_back(log.tokensPerStep * windows.steps / seconds);
    }
    result.windows = windows.count;
    result.tokensPerSecond = {median(rates), *std::min_element(rates.begin(), rates.end()),
        *std::max_element(rates.begin(), rates.end())};
}

void readIntervals(const Log& log, const Windows& windows, double watchdogMs, Measured& result) {
    std::vector<double> ms;
    for (std::size_t i = static_cast<std::size_t>(windows.warmUp); i < log.at.size(); ++i) {
        ms.push_back((log.at[i] - log.at[i - 1]) * 1e3);
    }
    const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
    double squares = 0;
    for (const double value : ms) {
        squares += (value - mean) * (value - mean);
        result.lateSteps += watchdogMs > 0 && value > watchdogMs ? 1 : 0;
    }
    result.intervalDeviation = std::sqrt(squares / static_cast<double>(ms.size())) / mean;
    result.steps = static_cast<int>(ms.size());
    std::sort(ms.begin(), ms.end());
    const double place = 0.999 * static_cast<double>(ms.size() - 1);
    result.intervalP999Ms = ms[static_cast<std::size_t>(std::lround(place))];
}

void readGraphs(const Log& log, Measured& result) {
    const double all = log.replays + log.fallbacks;
    if (all > 0) {
        result.hitShare = (log.replays - log.captures) / all;
        result.fellBackShare = log.fallbacks / all;
    }
}

double vital(const json& report, const std::string& name) {
    return numberAt(report, ("/vitals/" + name + "/values/0/value").c_str());
}

std::string recordRun(const Programs& programs, const std::vector<std::string>& trainer, Measured& result) {
    const std::string trace = programs.folder + "/bench.gdt";
    const std::string report = programs.folder + "/bench.json";
    std::vector<std::string> words{programs.graphdoctor, "run", "--force", "--level", "full", "-o", trace,
        "--fail-on", "never", "--report", "json=" + report, "--"};
    words.insert(words.end(), trainer.begin(), trainer.end());
    if (const Ended ended = runProgram(words); ended.status != 0) {
        return "recorded run: " + ended.lastLine;
    }
    std::ifstream file(report);
    const json document = json::parse(file, nullptr, false);
    if (!document.is_object()) {
        return "recorded run: no report";
    }
    result.busyShare = vital(document, "gpu_busy.busy_ratio");
    const double computing = vital(document, "gpu_busy.without_nccl_ratio");
    result.commShare = result.busyShare >= 0 && computing >= 0 ? result.busyShare - computing : -1;
    return {};
}

} // namespace

Measured measure(const Programs& programs, const std::vector<std::string>& arguments, const Windows& windows,
    bool recorded) {
    Measured result;
    const std::string logFile = programs.folder + "/bench.jsonl";
    std::vector<std::string> words{programs.trainer, "--quiet", "--log", logFile, "--steps",
        std::to_string(windows.total()), "--log-interval", "8"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (const Ended ended = runProgram(words); ended.status != 0) {
        result.problem = ended.lastLine.empty() ? fmt::format("status {}", ended.status) : ended.lastLine;
        return result;
    }
    const Log log = readLog(logFile);
    if (result.problem = problemOf(log, windows); !result.problem.empty()) {
        return result;
    }
    readWindows(log, windows, result);
    readIntervals(log, windows, programs.watchdogMs, result);
    readGraphs(log, result);
    if (recorded && !programs.graphdoctor.empty()) {
        result.problem = recordRun(programs, words, result);
    }
    return result;
}

} // namespace gdt::bench
