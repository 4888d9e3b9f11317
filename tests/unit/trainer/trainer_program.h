// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace gdt::test {

/// What a run of the program left.
struct Outcome {
    int status = -1;
    std::string output; // stdout and stderr
    std::vector<double> losses;
    std::vector<std::string> runs; // how each step ran
    double entropyRate = 0;
    std::string parameterHash;
    std::vector<nlohmann::json> graphFailures, graphMemory; // lines of the log
    nlohmann::json graphPool;
};

inline void readLog(const std::string& path, Outcome& outcome) {
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);) {
        const auto record = nlohmann::json::parse(line);
        if (record["event"] == "step") {
            outcome.losses.push_back(record["loss"]);
            outcome.runs.push_back(record["run"]);
        } else if (record["event"] == "graph" && record["to"] == "failed") {
            outcome.graphFailures.push_back(record);
        } else if (record["event"] == "graph-memory") {
            outcome.graphMemory.push_back(record);
        } else if (record["event"] == "graph-pool") {
            outcome.graphPool = record;
        } else if (record["event"] == "end") {
            outcome.entropyRate = record["entropy_rate"];
            outcome.parameterHash = record["parameter_hash"];
        }
    }
}

/// Runs the trainer with its log; nothing of the environment says that it is a rank.
inline Outcome run(const std::string& arguments) {
    const std::string log
        = (std::filesystem::temp_directory_path() / ("trainer-test-" + std::to_string(::getpid()) + ".jsonl"))
              .string();
    const std::string command = std::string("env -u RANK -u WORLD_SIZE ") + GDT_TRAINER + " --quiet --log "
        + log + " " + arguments + " 2>&1";
    Outcome outcome;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
        outcome.output += buffer;
    }
    const int wait = ::pclose(pipe);
    outcome.status = WIFEXITED(wait) ? WEXITSTATUS(wait) : 128 + WTERMSIG(wait);
    readLog(log, outcome);
    std::filesystem::remove(log);
    return outcome;
}

inline const std::string kSmall
    = "--hidden 16 --heads 2 --seq-len 16 --micro-batch-size 2 --corpus-tokens 8192 ";

} // namespace gdt::test
