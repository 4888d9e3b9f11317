// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gd::rules {

// Which stack frames are not the place to change: rules/frames.txt.
//
//     module libcuda*                  name of the object file (the whole path when the pattern has a '/')
//     path */site-packages/torch/*     source file, or path of the object file
//     function c10::*                  demangled name without return type and arguments
//     keep path */mine/*               takes frames back that an earlier line skipped
//     installed path */site-packages/* frames of code that somebody else wrote, most likely: the place to
//     change
//                                      only where the stack shows nothing else
//
// The last line that matches a frame decides, so later files and --param frames.skip=GLOB win.
class FrameFilter {
public:
    static Result<FrameFilter> parse(std::string_view text, const std::string& path);
    static Result<FrameFilter> load(const std::string& path);

    void append(const FrameFilter& later);
    // A user's own glob: tried as module, path and function.
    void skipAlso(const std::string& glob);

    enum class Kind { own, installed, skipped };
    Kind kindOf(const Location& frame) const;
    bool skips(const Location& frame) const { return kindOf(frame) == Kind::skipped; }

private:
    enum class Field { module, path, function };
    struct Pattern {
        Field field;
        Kind kind;
        std::string glob;
    };
    static bool matches(const Pattern& pattern, const Location& frame, std::string_view bareFunction);

    std::vector<Pattern> m_patterns;
};

// "void at::native::f<int>(long)" → "at::native::f<int>"
std::string_view bareFunctionName(std::string_view demangled);

// Gives the source locations of stacks, Python frames first, innermost first, skipped frames left out. Where
// the job's own code called into an installed package, its own innermost frame comes first, then the
// innermost ones of the package (Location::inside), then the callers. Remembers every stack it was asked for.
// Must not outlive the Db and the filter.
class LocationFinder {
public:
    static Result<LocationFinder> open(Db& db, const FrameFilter& filter);

    struct Found {
        std::vector<Location> locations;
        std::string reason; // why there are none
    };
    Result<Found> find(base::StackId stack);

private:
    LocationFinder(Statement frames, const FrameFilter& filter)
        : m_frames(std::move(frames))
        , m_filter(&filter) { }

    Statement m_frames;
    const FrameFilter* m_filter;
    std::map<base::StackId, Found> m_known;
};

} // namespace gd::rules
