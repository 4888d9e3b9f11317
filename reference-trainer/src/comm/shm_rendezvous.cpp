// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_rendezvous.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
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
    char text[256] = {};
    const std::size_t length = std::fread(text, 1, sizeof(text) - 1, file);
    std::fclose(file);
    return std::string(text, length);
}

bool host(const ShmOptions& options, const std::string& file, ShmSegment& segment, std::int64_t deadlineNs,
    std::string& error) {
    if (!segment.create(options.size, options.slotBytes, options.channelBytes, error))
        return false;
    bool come = writeFile(file, segment.name());
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
    while (!segment.attach(readFile(file))) {
        if (monotonicNs() > deadlineNs) {
            error = "rank 0 did not come: no live segment is named in " + file;
            return false;
        }
        pauseMs(2);
    }
    return segment.join(options.rank, options.size, deadlineNs, error);
}

} // namespace gdt::comm
