// SPDX-License-Identifier: Apache-2.0
#include "train/cli.h"
#include "train/launcher.h"

#include <cstdio>

int main(int argc, char** argv) {
    int status = 0;
    const auto command = gdt::train::parseCommandLine(argc, argv, status);
    if (!command) {
        return status;
    }
    if (command->startRanks) {
        // Once here, instead of once a rank.
        if (const std::string problem = command->config.fileProblem(); !problem.empty()) {
            std::fprintf(stderr, "reference-trainer: %s\n", problem.c_str());
            return 3;
        }
        return gdt::train::launchRanks(command->config.parallel.world(), argc, argv);
    }
    const int alone = command->config.modelledComm ? command->config.asRank : 0;
    return gdt::train::runRank(command->config, command->rank ? command->rank->rank : alone);
}
