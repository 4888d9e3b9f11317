// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/run_job.h"
#include "cli/run_options.h"
#include "cli/self_check.h"

namespace gd::cli {

int cmdRun(const Arguments& arguments) {
    const ParsedRun parsed = parseRun(arguments);
    if (parsed.stop)
        return *parsed.stop;
    if (parsed.options.selfCheck)
        return selfCheck(parsed.options.command);
    return parsed.options.printEnv ? printEnvironment(parsed.options) : runJob(parsed.options);
}

} // namespace gd::cli
