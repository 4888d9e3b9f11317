// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <string>

namespace gdt::train {

// Checks that an option's value lies from `least` to `most`, NaN included, which CLI::Range lets pass. The
// range is in the message of a wrong value; in --help it would only be noise.
template <class Number> CLI::Validator within(Number least, Number most) {
    const CLI::Validator range = CLI::Range(least, most);
    return CLI::Validator(
        [range](std::string& text) {
            std::string problem = range(text);
            if (problem.empty() && std::isnan(std::strtod(text.c_str(), nullptr))) {
                problem = text + " is not a number";
            }
            return problem;
        },
        "");
}

} // namespace gdt::train
