// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/fde_lookup.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gd::stacks {

namespace {

// glibc's struct dl_find_object (dlfcn.h of 2.35), declared here so that older headers do.
struct LoaderObject {
    unsigned long long flags;
    void* mapStart;
    void* mapEnd;
    void* linkMap;
    void* ehFrame;
    unsigned long long reserved[7];
};
static_assert(sizeof(LoaderObject) == 96);
using FindObject = int (*)(void*, LoaderObject*);

FindObject lookUpFindObject() {
    // RTLD_DEFAULT finds the loader's own one, not a hidden forwarder linked into this library.
    return reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

std::atomic<bool> g_snapshotOnly{false};

FindObject findObject() {
    static const FindObject function = lookUpFindObject();
    return g_snapshotOnly.load(std::memory_order_relaxed) ? nullptr : function;
}

constexpr std::size_t kMaxModules = 1024;

// A sequence lock over fixed arrays: odd while the collector's thread writes. Fields are stored with release
// and read with acquire order, which takes the place of the usual fences (sanitizers do not know those).
struct Snapshot {
    std::atomic<std::uint32_t> sequence{0};
    std::atomic<std::uint32_t> count{0};
    std::atomic<std::uint64_t> from[kMaxModules];
    std::atomic<std::uint64_t> to[kMaxModules];
    std::atomic<std::uint64_t> header[kMaxModules];
};
Snapshot g_snapshot;

bool findInSnapshot(std::uint64_t pc, MappedModule& out) {
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto before = g_snapshot.sequence.load(std::memory_order_acquire);
        std::size_t low = 0;
        std::size_t high = g_snapshot.count.load(std::memory_order_relaxed);
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (g_snapshot.from[middle].load(std::memory_order_relaxed) <= pc) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        MappedModule found;
        if (low > 0) {
            found.from = g_snapshot.from[low - 1].load(std::memory_order_acquire);
            found.to = g_snapshot.to[low - 1].load(std::memory_order_acquire);
            found.ehFrameHeader = g_snapshot.header[low - 1].load(std::memory_order_acquire);
        }
        if ((before & 1) == 0 && g_snapshot.sequence.load(std::memory_order_relaxed) == before) {
            out = found;
            return pc < found.to;
        }
    }
    return false;
}

// In-place reading is safe for modules the loader just named; snapshot entries may be unmapped by now.
struct Memory {
    bool inPlace;

    template <class T> bool read(std::uint64_t address, T& out) const {
        if (inPlace) {
            std::memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
            return true;
        }
        return readSafely(address, &out, sizeof out);
    }

    /// The contents of the entry at `address` (after its length word), copied into `room` if needed.
    bool entry(std::uint64_t address, std::uint8_t* room, std::size_t roomBytes, TableBytes& out) const {
        std::uint32_t length = 0;
        if (!read(address, length) || length < 4 || length >= 0xfffffff0) {
            return false;
        }
        const std::uint64_t contents = address + 4;
        if (inPlace) {
            const auto* begin = reinterpret_cast<const std::uint8_t*>(contents);
            out = {begin, begin + length, 0, false};
            return true;
        }
        if (length > roomBytes || !readSafely(contents, room, length)) {
            return false;
        }
        out = {room, room + length,
            static_cast<std::intptr_t>(contents) - reinterpret_cast<std::intptr_t>(room), false};
        return true;
    }
};

bool rowFromEntry(
    const Memory& memory, std::uint64_t address, std::uint64_t pc, TableScratch& scratch, UnwindRow& row) {
    TableBytes frame;
    if (!memory.entry(address, scratch.frame, sizeof scratch.frame, frame)) {
        return false;
    }
    const auto toCommon = frame.fixed<std::uint32_t>();
    if (toCommon == 0) {
        return false; // a common entry, not a frame description
    }
    TableBytes commonBytes;
    if (!memory.entry(address + 4 - toCommon, scratch.common, sizeof scratch.common, commonBytes)
        || commonBytes.fixed<std::uint32_t>() != 0) {
        return false;
    }
    CommonEntry common;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    TableBytes program;
    return parseCommonEntry(commonBytes, common) && parseFrameEntry(frame, common, from, to, program)
        && pc >= from && pc < to && computeRow(common, program, from, pc, row);
}

struct FrameHeader {
    std::uint8_t version;
    std::uint8_t framePointerEncoding;
    std::uint8_t countEncoding;
    std::uint8_t tableEncoding;
};
struct TableEntry { // encoding 0x3b, which every linker in use writes
    std::int32_t location;
    std::int32_t frame;
};

// Without a search table: from entry to entry. Rare (linked with --no-eh-frame-hdr-table tools only).
bool scanFrames(const Memory& memory, std::uint64_t frames, const MappedModule& module, std::uint64_t pc,
    TableScratch& scratch, UnwindRow& row) {
    constexpr int kMaxEntries = 200000;
    std::uint64_t address = frames;
    for (int i = 0; i < kMaxEntries && address >= module.from && address + 8 <= module.to; ++i) {
        std::uint32_t length = 0;
        if (!memory.read(address, length) || length < 4 || length >= 0xfffffff0) {
            return false;
        }
        if (rowFromEntry(memory, address, pc, scratch, row)) {
            return true;
        }
        address += 4 + std::uint64_t{length};
    }
    return false;
}

} // namespace

bool readSafely(std::uint64_t address, void* out, std::size_t bytes) {
    const int savedErrno = errno;
    iovec local{out, bytes};
    iovec remote{reinterpret_cast<void*>(address), bytes};
    const auto got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1UL, &remote, 1UL, 0UL);
    errno = savedErrno;
    return got == static_cast<long>(bytes);
}

void useSnapshotOnly(bool on) {
    g_snapshotOnly.store(on, std::memory_order_relaxed);
}

bool loaderFindsObjects() {
    return findObject() != nullptr;
}

bool findModule(std::uint64_t pc, MappedModule& out) {
    if (const FindObject ask = findObject()) {
        LoaderObject object{};
        if (ask(reinterpret_cast<void*>(pc), &object) != 0) {
            return false;
        }
        out.from = reinterpret_cast<std::uint64_t>(object.mapStart);
        out.to = reinterpret_cast<std::uint64_t>(object.mapEnd);
        out.ehFrameHeader = reinterpret_cast<std::uint64_t>(object.ehFrame);
        return true;
    }
    return findInSnapshot(pc, out);
}

void publishModules(const MappedModule* modules, std::size_t count) {
    count = count < kMaxModules ? count : kMaxModules;
    const auto sequence = g_snapshot.sequence.load(std::memory_order_relaxed);
    g_snapshot.sequence.store(sequence + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        g_snapshot.from[i].store(modules[i].from, std::memory_order_release);
        g_snapshot.to[i].store(modules[i].to, std::memory_order_release);
        g_snapshot.header[i].store(modules[i].ehFrameHeader, std::memory_order_release);
    }
    g_snapshot.count.store(static_cast<std::uint32_t>(count), std::memory_order_release);
    g_snapshot.sequence.store(sequence + 2, std::memory_order_release);
}

bool findUnwindRow(std::uint64_t pc, TableScratch& scratch, UnwindRow& row) {
    MappedModule module;
    if (!findModule(pc, module) || module.ehFrameHeader == 0) {
        return false;
    }
    const Memory memory{findObject() != nullptr};
    FrameHeader header{};
    if (!memory.read(module.ehFrameHeader, header) || header.version != 1) {
        return false;
    }
    std::uint8_t words[20] = {};
    if (memory.inPlace) {
        std::memcpy(words, reinterpret_cast<const void*>(module.ehFrameHeader + 4), 16);
    } else if (!readSafely(module.ehFrameHeader + 4, words, 16)) {
        return false;
    }
    TableBytes bytes{words, words + sizeof words,
        static_cast<std::intptr_t>(module.ehFrameHeader + 4) - reinterpret_cast<std::intptr_t>(words), false};
    const std::uint64_t frames = bytes.encoded(header.framePointerEncoding, module.ehFrameHeader);
    const std::uint64_t count = bytes.encoded(header.countEncoding, module.ehFrameHeader);
    if (bytes.failed) {
        return false;
    }
    if (header.tableEncoding != 0x3b || count == 0 || header.countEncoding == 0xff) {
        return scanFrames(memory, frames, module, pc, scratch, row);
    }
    const std::uint64_t table = module.ehFrameHeader + 4 + static_cast<std::uint64_t>(bytes.cursor - words);
    const auto target = static_cast<std::int64_t>(pc - module.ehFrameHeader);
    std::uint64_t low = 0;
    std::uint64_t high = count;
    TableEntry entry{};
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (!memory.read(table + middle * sizeof entry, entry)) {
            return false;
        }
        if (entry.location <= target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || !memory.read(table + (low - 1) * sizeof entry, entry)) {
        return false;
    }
    return rowFromEntry(memory, module.ehFrameHeader + static_cast<std::uint64_t>(std::int64_t{entry.frame}),
        pc, scratch, row);
}

} // namespace gd::stacks
