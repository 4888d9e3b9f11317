// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "cli/run/job_identity.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::run {

// What the placeholders of -o stand for.
struct NameValues {
    std::string host;
    std::int64_t pid = 0;
    ReadVariable read;
};

// Expands %h host, %p pid, %r rank, %q{VAR} a variable and %% in the argument of an option. An unknown
// placeholder, a rank outside a launcher and an unset variable are usage errors.
Result<std::string> expandName(std::string_view pattern, const NameValues& values);

// "graphdoctor-<job id, or UTC time>-<host>.gdt"
std::string defaultName(
    const std::optional<JobIdentity>& job, const std::string& host, std::int64_t unixSeconds);

// Refuses a file that exists (unless `replace`), a folder, and a place where no file can be made; nothing is
// left behind. The sentence names the file.
Result<void> checkWritable(const std::string& path, bool replace);
// A name beside a default one that is taken.
std::string freeName(const std::string& output);
// The file that a link leads to, also one that is still to be made.
std::string behindLinks(const std::string& path);
// The same as checkWritable() for a report, which takes the place of an older one, follows links and may go
// to a device or pipe.
Result<void> checkReportTarget(const std::string& path);

std::string hostName();

} // namespace gd::run
