// SPDX-License-Identifier: Apache-2.0
// Runs the trainer for one of the source document's tables of figures and prints ours beside the document's.
#include "bench_tables.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <sys/utsname.h>
#include <unistd.h>

namespace {

using namespace gdt::bench;
using nlohmann::ordered_json;

struct Options {
    std::string table;
    std::string backend = "host";
    std::string scale;
    bool json = false;
    bool allRows = false;
    double watchdogMs = 100;
    int windowSteps = 0;
    Settings settings;
    Programs programs;
};

std::string beside(const char* program) {
    std::error_code failure;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
    const auto path = self.parent_path() / program;
    return std::filesystem::exists(path, failure) ? path.string() : std::string();
}

std::string share(double value) {
    return value < 0 ? "-" : fmt::format("{:.1f} %", 100 * value);
}

std::string gain(const Measured& result, const Measured& baseline) {
    if (!baseline.problem.empty() || baseline.tokensPerSecond.median <= 0) {
        return "-";
    }
    return fmt::format("{:.2f}x", result.tokensPerSecond.median / baseline.tokensPerSecond.median);
}

constexpr const char* kLine = "{:<42} {:<9} {:>34} {:>7} {:>8} {:>8} {:>8} {:>8}  {}\n";

void printRow(const Row& row, const Measured& m, const std::vector<Measured>& all) {
    if (!m.problem.empty()) {
        fmt::print("{:<42} {:<9} not run: {}\n", row.what, natureName(row.nature), m.problem);
        return;
    }
    const Spread& rate = m.tokensPerSecond;
    fmt::print(kLine, row.what, natureName(row.nature),
        fmt::format("{:.0f} ({:.0f} to {:.0f})", rate.median, rate.least, rate.most),
        row.baseline < 0 ? "" : gain(m, all[static_cast<std::size_t>(row.baseline)]), share(m.hitShare),
        share(m.fellBackShare), share(m.busyShare), share(m.commShare), row.document);
}

void printIntervals(const Row& row, const Measured& m) {
    if (m.problem.empty()) {
        fmt::print("{:<42} {:<9} {:>10.2f} {:>12.2f} ms {:>6} of {}\n", row.what, natureName(row.nature),
            m.intervalDeviation, m.intervalP999Ms, m.lateSteps, m.steps);
    }
}

// What stands above the rows, which follow one by one as they are measured: a run may take minutes.
void printHead(const Table& table, const Options& options) {
    utsname machine{};
    ::uname(&machine);
    fmt::print("Table {}: {}\n{} backend, {} scale, {} windows of {} steps; {} cores, Linux {}\n\n", table.id,
        table.title, options.backend, options.settings.full ? "full" : "toy", table.windows.count,
        table.windows.steps, ::sysconf(_SC_NPROCESSORS_ONLN), machine.release);
    fmt::print(kLine, "", "", "tokens/s, median of windows (range)", "against", "hits", "fell", "busy",
        "comm", "source document");
    std::fflush(stdout);
}

void printFoot(const Table& table, const std::vector<Measured>& results, const Options& options) {
    fmt::print("\n{:<42} {:<9} {:>10} {:>15} later than {:g} ms\n", "time between steps", "", "deviation",
        "99.9 %", options.watchdogMs);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        printIntervals(table.rows[i], results[i]);
    }
    for (const std::string& note : table.notes) {
        fmt::print("note: {}\n", note);
    }
}

std::vector<Measured> measureAll(const Table& table, const Options& options) {
    std::vector<Measured> results;
    for (const Row& row : table.rows) {
        results.push_back(measure(options.programs, row.arguments, table.windows, row.recorded));
        if (!options.json) {
            printRow(row, results.back(), results);
            std::fflush(stdout);
        }
    }
    return results;
}

ordered_json rowJson(const Row& row, const Measured& m) {
    ordered_json line{{"what", row.what}, {"nature", natureName(row.nature)}, {"arguments", row.arguments},
        {"document", row.document}};
    if (!m.problem.empty()) {
        line["problem"] = m.problem;
        return line;
    }
    const auto known = [](double value) { return value < 0 ? ordered_json(nullptr) : ordered_json(value); };
    line["tokens_per_second"] = {{"median", m.tokensPerSecond.median}, {"min", m.tokensPerSecond.least},
        {"max", m.tokensPerSecond.most}, {"windows", m.windows}};
    line["against_row"] = row.baseline < 0 ? ordered_json(nullptr) : ordered_json(row.baseline);
    line["hit_ratio"] = known(m.hitShare);
    line["fell_back_ratio"] = known(m.fellBackShare);
    line["busy_ratio"] = known(m.busyShare);
    line["comm_ratio"] = known(m.commShare);
    line["interval_deviation"] = known(m.intervalDeviation);
    line["interval_p999_ms"] = known(m.intervalP999Ms);
    line["late_steps"] = m.lateSteps;
    line["steps"] = m.steps;
    return line;
}

void printJson(const Table& table, const std::vector<Measured>& results, const Options& options) {
    ordered_json document{{"table", table.id}, {"title", table.title}, {"backend", options.backend},
        {"overhead_us", options.settings.overheadUs}, {"watchdog_ms", options.watchdogMs},
        {"windows", table.windows.count}, {"steps_a_window", table.windows.steps}, {"notes", table.notes}};
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        document["rows"].push_back(rowJson(table.rows[i], results[i]));
    }
    fmt::print("{}\n", document.dump(2));
}

int readOptions(int argc, char** argv, Options& options) {
    CLI::App app(
        "Prints one of the source document's tables with our figures beside its own: medians of windows "
        "with their range, and of each row whether it is native, EMULATED or MODELLED.",
        "trainer_bench");
    app.option_defaults()->always_capture_default();
    app.add_option("--table", options.table, "Which one")
        ->required()
        ->check(CLI::IsMember({"5.1", "5.2", "5.3", "5.4", "5.5"}));
    app.add_option("--backend", options.backend, "Where the trainer runs")
        ->check(CLI::IsMember({"host", "cuda"}));
    app.add_option(
           "--scale", options.scale, "toy: seconds on a CPU; full: the document's sizes; default by backend")
        ->check(CLI::IsMember({"toy", "full"}));
    app.add_flag("--json", options.json, "One JSON document instead of text");
    app.add_flag("--all-rows", options.allRows,
        "End with status 1 when any row could not be run, not only when all could not");
    app.add_option("--overhead-us", options.settings.overheadUs, "Of each call in EMULATED and MODELLED rows")
        ->check(CLI::Range(0.0, 1e4));
    app.add_option("--watchdog-ms", options.watchdogMs, "Steps that take longer count as late")
        ->check(CLI::Range(0.1, 1e6));
    app.add_option("--window-steps", options.windowSteps, "Steps of a window; 0: the table's own")
        ->check(CLI::Range(0, 100000));
    app.add_option("--trainer", options.programs.trainer, "The trainer; default: beside this program");
    app.add_option("--graphdoctor", options.programs.graphdoctor,
        "For busy and communication shares; default: beside this program, empty for none");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "trainer_bench: {}\n", error.what());
        return 2;
    }
    if (app.count("--trainer") == 0) {
        options.programs.trainer = beside("reference-trainer");
    }
    if (app.count("--graphdoctor") == 0) {
        options.programs.graphdoctor = beside("graphdoctor");
    }
    options.settings.cuda = options.backend == "cuda";
    options.settings.full = options.scale.empty() ? options.settings.cuda : options.scale == "full";
    options.programs.watchdogMs = options.watchdogMs;
    return -1;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (const int status = readOptions(argc, argv, options); status >= 0) {
        return status;
    }
    if (options.programs.trainer.empty()) {
        fmt::print(
            stderr, "trainer_bench: there is no reference-trainer beside this program; give --trainer\n");
        return 2;
    }
    std::string folder = (std::filesystem::temp_directory_path() / "trainer-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
        fmt::print(stderr, "trainer_bench: {} cannot be made\n", folder);
        return 3;
    }
    options.programs.folder = folder;
    Table table = *makeTable(options.table, options.settings);
    table.windows.steps = options.windowSteps > 0 ? options.windowSteps : table.windows.steps;
    if (!options.json) {
        printHead(table, options);
    }
    const std::vector<Measured> results = measureAll(table, options);
    (options.json ? printJson : printFoot)(table, results, options);
    const auto bad = static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const Measured& m) { return !m.problem.empty(); }));
    std::error_code failure;
    std::filesystem::remove_all(folder, failure);
    return bad == results.size() || (options.allRows && bad > 0) ? 1 : 0;
}
