// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gd::facts {

struct Frame {
    std::string function; // empty = unknown
    std::string module; // path of the object file, empty for Python
    std::string file;
    std::int64_t line = 0;
    std::int64_t address = 0;
};

// Frames of one language, innermost first.
struct Stack {
    std::vector<Frame> python;
    std::vector<Frame> native;
    bool empty() const { return python.empty() && native.empty(); }
};

// Reads stacks when they are asked for and keeps them.
class StackReader {
public:
    static Result<StackReader> open(Db& db);
    // Id 0 and unknown ids give an empty stack.
    Result<const Stack*> read(std::int64_t stackId);
    // "file:line in function" of the job's code; nullopt when the stack does not tell.
    Result<std::optional<std::string>> jobPlace(std::int64_t stackId);

private:
    explicit StackReader(Statement select)
        : m_select(std::move(select)) { }
    Statement m_select;
    std::unordered_map<std::int64_t, Stack> m_stacks;
};

// The place in the job's code: the first frame that is not CUDA, a framework's or ours; Python wins. NULL
// when there is none.
const Frame* userFrame(const Stack& stack);
// The innermost frame outside the CUDA libraries lies in a tool's library (a profiler's or ours).
bool isInTool(const Stack& stack);
// A function name, file or module of any frame contains one of these words.
bool mentions(const Stack& stack, std::initializer_list<const char*> words);

// How many calls, counted from the outermost, two stacks of one thread have in common: the last common one
// may be at another line. nullopt when one of them has no frames of the other's languages.
std::optional<std::size_t> commonDepth(const Stack& a, const Stack& b);

} // namespace gd::facts
