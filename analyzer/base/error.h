// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/source_location.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gd::base {

// What went wrong, as far as a caller or an exit status depends on it.
enum class ErrorCode : std::uint8_t {
    usage, // the command line or a call's arguments are wrong
    notFound, // a named file, table, rule or parameter does not exist
    badInput, // a file was read but its content is not what it should be
    io, // the system refused to open, read or write
    denied, // a statement did what a reader must not do
    timeLimit, // stopped because it took too long
    query, // SQL that does not compile or fails while running
    internal, // everything else
};

// 2 = wrong usage, 3 = a trace or file cannot be read or written.
constexpr int exitStatus(ErrorCode code) {
    return code == ErrorCode::usage ? 2 : 3;
}

constexpr std::string_view name(ErrorCode code) {
    switch (code) {
    case ErrorCode::usage:
        return "usage";
    case ErrorCode::notFound:
        return "not_found";
    case ErrorCode::badInput:
        return "bad_input";
    case ErrorCode::io:
        return "io";
    case ErrorCode::denied:
        return "denied";
    case ErrorCode::timeLimit:
        return "time_limit";
    case ErrorCode::query:
        return "query";
    case ErrorCode::internal:
        break;
    }
    return "internal";
}

// Why a call failed: one clear sentence without a final full stop that names file, position and what was
// expected.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;
    SourceLocation where; // of our own code, for debugging; never shown to users
    int offset = -1; // byte position in the text that was refused (SQL), -1 = unknown

    Error(ErrorCode errorCode, std::string text, SourceLocation location = SourceLocation::current())
        : code(errorCode)
        , message(std::move(text))
        , where(location) { }
};

} // namespace gd::base

namespace gd {
using base::Error;
using base::ErrorCode;
} // namespace gd
