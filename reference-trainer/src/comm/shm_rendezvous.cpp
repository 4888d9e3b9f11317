// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace gdt::comm {

namespace {

bool writeFile(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(getpid());
    std::FILE* file = std::fopen(temporary.c_str(), "w");
    if (file == nullptr)
        return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0)
        return true;
    std::remove(temporary.c_str());
    return false;
}

std::string readFile(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr)
        return {};
    std::string text;
    char part[4096];
    for (std::size_t length = 0; (length = std::fread(part, 1, sizeof(part), file)) > 0;)
        text.append(part, length);
    std::fclose(file);
    return text;
}

std::string lineOf(std::string_view text, std::size_t number) {
    for (; number > 0 && !text.empty(); --number)
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    return std::string(text.substr(0, text.find('\n')));
}

// One sentence about the first line that is not the same, or nothing.
std::string disagreement(int rank, const std::string& own, const std::string& ofRank0) {
    if (own == ofRank0)
        return {};
    std::size_t number = 0;
    while (lineOf(own, number) == lineOf(ofRank0, number) && !lineOf(own, number).empty())
        ++number;
    return "rank " + std::to_string(rank) + " was started with " + lineOf(own, number) + ", rank 0 with "
        + lineOf(ofRank0, number) + "; all ranks of a job need the same";
}

bool host(const ShmOptions& options, const std::string& file, ShmSegment& segment, std::int64_t deadlineNs,
    std::string& error) {
    if (!segment.create(options.size, options.slotBytes, options.channelBytes, error))
        return false;
    bool come = writeFile(file, segment.name() + "\n" + options.agreement);
    if (!come)
        error = "cannot write the rendezvous file " + file + ": " + std::strerror(errno);
    come = come && segment.join(0, options.size, deadlineNs, error);
    std::remove(file.c_str());
    return come;
}

} // namespace

bool meetInFolder(const ShmOptions& options, ShmSegment& segment, std::string& error) {
    if (options.size < 1 || options.size > kMaxShmRanks || options.rank < 0 || options.rank >= options.size
        || options.slotBytes < 64) {
        error = "rank " + std::to_string(options.rank) + " of " + std::to_string(options.size)
            + " ranks is no valid place in a communicator of at most " + std::to_string(kMaxShmRanks);
        return false;
    }
    const std::string file = options.folder + "/" + options.name + ".rendezvous";
    const std::int64_t deadlineNs = monotonicNs() + options.startNs;
    if (options.rank == 0)
        return host(options, file, segment, deadlineNs, error);
    std::string left;
    while (!segment.attach((left = readFile(file)).substr(0, left.find('\n')))) {
        if (monotonicNs() > deadlineNs) {
            error = "rank 0 did not come: no live segment is named in " + file;
            return false;
        }
        pauseMs(2);
    }
    if (!segment.join(options.rank, options.size, deadlineNs, error))
        return false;
    error = disagreement(
        options.rank, options.agreement, left.substr(std::min(left.find('\n'), left.size() - 1) + 1));
    return error.empty();
}

} // namespace gdt::comm
