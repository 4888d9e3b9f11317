// SPDX-License-Identifier: Apache-2.0
#include "train/cli.h"
#include "train/launcher.h"

#include <cstdio>
#include <exception>
#include <new>

namespace {

int unusable(const char* sentence) {
    std::fprintf(stderr, "reference-trainer: %s\n", sentence);
    return 3;
}

int run(int argc, char** argv) {
    int status = 0;
    const auto command = gdt::train::parseCommandLine(argc, argv, status);
    if (!command) {
        return status;
    }
    if (const std::string problem = command->config.saveProblem(); !problem.empty()) {
        return unusable(problem.c_str());
    }
    if (command->startRanks) {
        // Once here, instead of once a rank.
        if (const std::string problem = command->config.fileProblem(); !problem.empty()) {
            return unusable(problem.c_str());
        }
        return gdt::train::launchRanks(command->config.parallel.world(), argc, argv);
    }
    const int alone = command->config.modelledComm ? command->config.asRank : 0;
    return gdt::train::runRank(command->config, command->rank ? command->rank->rank : alone);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        return unusable("the machine has too little memory for this run");
    } catch (const std::exception& error) {
        return unusable(error.what());
    }
}
