// SPDX-License-Identifier: Apache-2.0
// A runtime written in Python under each CPython of this machine: the first failing call of a capture must
// carry the script's own frames, whether or not the call gives up the interpreter's lock.
#include "collector/raw/records_graph.h"
#include "collector/raw/records_process.h"
#include "collector/raw/spool_name.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace gd;

struct Interpreter {
    const char* version;
    const char* path; ///< empty: not on this machine
};
const Interpreter kInterpreters[] = {GD_PYTHON_INTERPRETERS};

struct Frame {
    std::string file;
    std::string function;
    unsigned line;
};

std::vector<Frame> pythonFrames(const test::RawSpool& spool, raw::StackRef id) {
    std::vector<Frame> frames;
    for (const auto& record : spool.history) {
        if (record.kind != raw::RecordKind::Stack || record.as<raw::Stack>().id != id) {
            continue;
        }
        const auto stack = record.as<raw::Stack>();
        for (unsigned i = 0; i < stack.pythonCount; ++i) {
            raw::PythonFrame frame{};
            std::memcpy(&frame,
                record.bytes + sizeof stack + stack.nativeCount * sizeof(std::uint64_t) + i * sizeof frame,
                sizeof frame);
            frames.push_back({spool.string(frame.file), spool.string(frame.function), frame.line});
        }
    }
    return frames;
}

class PythonStacks : public testing::TestWithParam<std::tuple<Interpreter, const char*, const char*>> { };

/// The functions of the stack, innermost first.
std::vector<std::string> expectedFunctions(const std::string& way) {
    std::vector<std::string> functions{"call", "synchronize", "training_step"};
    if (way == "thread" || way == "busy") {
        functions.insert(functions.end(), {"run", "_bootstrap_inner", "_bootstrap"});
    } else if (way == "deep") {
        functions.resize(64, "nested"); // the outer ones are cut off
    } else {
        functions.insert(functions.end(), {"main", "<module>"});
    }
    return functions;
}

TEST_P(PythonStacks, NameTheScriptsLine) {
    const auto& [interpreter, lock, way] = GetParam();
    if (interpreter.path[0] == '\0') {
        GTEST_SKIP() << "no CPython " << interpreter.version << " on this machine";
    }
    const test::SpoolBuilder builder;
    const std::string command = std::string(raw::kEnvSpool) + "='" + builder.path() + "' " + raw::kEnvTool
        + "='" GD_COLLECTOR_LIBRARY "' '" + interpreter.path + "' -B '" GD_PYTHON_CLIENT "' " + lock + " "
        + way;
    std::FILE* client = popen(command.c_str(), "r");
    ASSERT_NE(client, nullptr);
    char file[1024] = {};
    unsigned line = 0;
    EXPECT_EQ(std::fscanf(client, "FAIL %1023[^:]:%u", file, &line), 2);
    ASSERT_EQ(pclose(client), 0);

    const std::string segment = builder.segments().at(0);
    const test::RawSpool spool(segment, test::SpoolBuilder::ringOf(segment));
    const auto fails = spool.historyOf<raw::CaptureFail>();
    ASSERT_EQ(fails.size(), 1U);
    EXPECT_EQ(fails[0].result, 900);
    const auto frames = pythonFrames(spool, fails[0].stack);
    const std::vector<std::string> functions = expectedFunctions(way);
    ASSERT_EQ(frames.size(), functions.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(frames[i].function, functions[i]);
        const bool isOwn = functions[i] != "run" && functions[i].rfind("_bootstrap", 0) != 0;
        EXPECT_EQ(frames[i].file.substr(frames[i].file.rfind('/')),
            isOwn ? "/python_runtime_client.py" : "/threading.py");
    }
    EXPECT_EQ(frames[2].line, line);
}

INSTANTIATE_TEST_SUITE_P(EachInterpreter, PythonStacks,
    testing::Combine(testing::ValuesIn(kInterpreters), testing::Values("held", "released"),
        testing::Values("", "thread", "deep", "busy")),
    [](const auto& one) {
        std::string name = std::string("Python") + std::get<0>(one.param).version + std::get<1>(one.param)
            + std::get<2>(one.param);
        name.erase(std::remove(name.begin(), name.end(), '.'), name.end());
        return name;
    });

} // namespace
