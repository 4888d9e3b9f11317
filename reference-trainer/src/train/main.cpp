// SPDX-License-Identifier: Apache-2.0
#include "train/cli.h"
#include "train/launcher.h"

int main(int argc, char** argv) {
    int status = 0;
    const auto command = gdt::train::parseCommandLine(argc, argv, status);
    if (!command) {
        return status;
    }
    if (command->startRanks) {
        return gdt::train::launchRanks(command->config.parallel.world(), argc, argv);
    }
    return gdt::train::runRank(command->config, command->rank ? command->rank->rank : 0);
}
