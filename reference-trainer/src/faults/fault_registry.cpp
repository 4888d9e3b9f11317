// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_registry.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace gdt::faults {

namespace {

template <class Number> std::optional<Number> parseNumber(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end || !(value >= 0)) { // and not NaN
        return std::nullopt;
    }
    return value;
}

bool accepts(const FaultInfo& info, std::string_view arg) {
    return std::find(info.takes.begin(), info.takes.end(), arg) != info.takes.end();
}

std::string joined(const std::vector<std::string_view>& words, const char* separator) {
    std::string text;
    for (const std::string_view word : words) {
        text += (text.empty() ? "" : separator) + std::string(word);
    }
    return text;
}

std::string shortest(double value) {
    char text[32];
    return {text, static_cast<std::size_t>(std::snprintf(text, sizeof(text), "%.12g", value))};
}

// For example "a whole number from 2 to 65536: number of sequence lengths (--max-graphs + 4)".
std::string rangeOf(const FaultParameter& param) {
    return std::string(param.whole ? "a whole number" : "a number") + " from " + shortest(param.least)
        + " to " + shortest(param.most) + ": " + std::string(param.meaning);
}

bool isWithin(const FaultParameter& param, double value) {
    return value >= param.least && value <= param.most && (!param.whole || value == std::floor(value));
}

// "step=12" and the like; "harmless" has no value.
bool parseOption(const FaultInfo& info, std::string_view option, FaultSpec& spec, std::string& problem) {
    const std::size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    if (!accepts(info, name) || name == "param") {
        problem = "--fault " + spec.id + " does not take @" + std::string(name) + "; it takes "
            + joined(info.takes, ", ");
        return false;
    }
    const auto twice = [&] {
        problem = "--fault " + spec.id + ": @" + std::string(name) + " is given twice";
        return false;
    };
    if (name == "harmless") {
        const bool again = std::exchange(spec.harmless, true);
        return again ? twice() : equals == std::string_view::npos;
    }
    const std::optional<std::int64_t> value = equals == std::string_view::npos
        ? std::nullopt
        : parseNumber<std::int64_t>(option.substr(equals + 1));
    if (!value) {
        problem = "--fault " + spec.id + ": @" + std::string(name) + " needs a number, as in @"
            + std::string(name) + "=3";
        return false;
    }
    std::optional<std::int64_t>& place = name == "step" ? spec.step
        : name == "layer"                               ? spec.layer
                                                        : spec.rank;
    if (place) {
        return twice();
    }
    place = value;
    return true;
}

bool parseHead(std::string_view head, FaultSpec& spec, std::string& problem) {
    const std::size_t colon = head.find(':');
    spec.id = std::string(head.substr(0, colon));
    const FaultInfo* info = findFault(spec.id);
    if (info == nullptr) {
        problem = "--fault " + spec.id + " is not known; --list-faults shows all faults";
        return false;
    }
    if (colon == std::string_view::npos) {
        return true;
    }
    spec.param = parseNumber<double>(head.substr(colon + 1));
    if (!accepts(*info, "param") || !spec.param || !isWithin(info->param, *spec.param)) {
        problem = "--fault " + spec.id + " takes "
            + (accepts(*info, "param") ? "after the colon " + rangeOf(info->param)
                                       : std::string("no parameter after a colon"));
        return false;
    }
    return true;
}

} // namespace

const FaultInfo* findFault(std::string_view id) {
    const std::span<const FaultInfo> faults = registry();
    const auto it
        = std::find_if(faults.begin(), faults.end(), [&](const FaultInfo& f) { return f.id == id; });
    return it == faults.end() ? nullptr : &*it;
}

std::optional<FaultSpec> parseFault(std::string_view text, std::string& problem) {
    FaultSpec spec;
    std::size_t at = text.find('@');
    if (!parseHead(text.substr(0, at), spec, problem)) {
        return std::nullopt;
    }
    const FaultInfo& info = *findFault(spec.id);
    while (at != std::string_view::npos) {
        const std::size_t next = text.find('@', at + 1);
        const std::string_view option
            = text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
        if (!parseOption(info, option, spec, problem)) {
            if (problem.empty()) {
                problem = "--fault " + spec.id + ": @harmless takes no value";
            }
            return std::nullopt;
        }
        at = next;
    }
    return spec;
}

std::string listFaults(bool json) {
    if (json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const FaultInfo& f : registry()) {
            nlohmann::ordered_json range;
            if (!f.param.meaning.empty()) {
                range = {f.param.least, f.param.most};
            }
            list.push_back({{"id", f.id}, {"section", f.section}, {"title", f.title}, {"hooks", f.hooks},
                {"backends", f.backends}, {"args", f.args}, {"takes", f.takes}, {"param", f.param.meaning},
                {"param_range", range}, {"rules", f.rules}});
        }
        return list.dump(2) + "\n";
    }
    std::string text;
    for (const FaultInfo& f : registry()) {
        const std::string rules = f.rules.empty() ? "no rule yet" : joined(f.rules, ", ");
        text += std::string(f.id) + " (" + rules + ")\n    " + std::string(f.title) + "\n";
        text += "    takes " + joined(f.takes, ", ") + "\n";
        if (!f.args.empty()) {
            text += "    needs " + joined(f.args, " ") + "\n";
        }
        if (!f.param.meaning.empty()) {
            text += "    param: " + rangeOf(f.param) + "\n";
        }
    }
    return text;
}

} // namespace gdt::faults
