// SPDX-License-Identifier: Apache-2.0
// Tables process, process_fact, env_var, thread, device, context, stream, event.
#include "analyzer/import/import_context.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gd::importer {
namespace {

std::optional<std::int64_t> parsed(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || status != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// The last fact of a name counts.
std::optional<std::string_view> fact(ProcessImport& process, std::string_view key) {
    std::optional<std::string_view> value;
    for (const raw::ProcessFact& record : process.raw().facts) {
        if (process.rawText(record.key) == key && record.value != 0)
            value = process.rawText(record.value);
    }
    return value;
}

std::optional<std::string_view> envVar(ProcessImport& process, std::string_view name) {
    for (const raw::EnvVar& record : process.raw().envVars) {
        if (process.rawText(record.name) == name)
            return process.rawText(record.value);
    }
    return std::nullopt;
}

// A launcher's rank variables come in pairs; one without the other means something else. Names: torchrun,
// Open MPI, MVAPICH, PMI (MPICH, Intel MPI) and Slurm documentation.
struct RankNames {
    std::string_view rank;
    std::string_view worldSize;
};
constexpr std::array<RankNames, 5> kRankNames{{{"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}}};

struct Place {
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> worldSize;
};

Place placeOf(ProcessImport& process) {
    const auto number
        = [](std::optional<std::string_view> text) { return text ? parsed(*text) : std::nullopt; };
    Place place{number(fact(process, "rank")), number(fact(process, "world_size"))};
    for (const RankNames& names : kRankNames) {
        if (place.rank)
            break;
        const Place found{number(envVar(process, names.rank)), number(envVar(process, names.worldSize))};
        if (found.rank && found.worldSize && *found.worldSize > 0)
            place = found;
    }
    // A forked child (a data loader's worker) inherits its parent's variables and is no rank itself; one with
    // another number was given it on purpose.
    auto& ranks = process.job().rankByKey;
    const auto& start = process.raw().start;
    if (start && start->parentKey != 0) {
        const auto parent = ranks.find(start->parentKey);
        if (parent != ranks.end() && parent->second == place.rank)
            place.rank.reset();
    }
    if (start && place.rank)
        ranks.emplace(start->processKey, *place.rank);
    return place;
}

Result<void> importFacts(ProcessImport& process) {
    // These have columns of their own.
    constexpr std::array<std::string_view, 6> kColumns{
        "command_line", "executable", "host", "rank", "world_size", "runtime"};
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO process_fact(process_id, key, value) VALUES (?, ?, ?)"));
    for (const raw::ProcessFact& record : process.raw().facts) {
        const std::string_view key = process.rawText(record.key);
        const auto value = process.text(record.value);
        if (key.empty() || !value || std::find(kColumns.begin(), kColumns.end(), key) != kColumns.end())
            continue;
        std::string shown = isSecretName(key) ? std::string(kMask) : *value;
        // A folder has no file name that would be worth keeping.
        if (key == "working_directory")
            shown = process.job().cleaner.clean(std::string(process.rawText(record.value)) + "/");
        GD_TRY(insert.runWith(process.processId(), *process.text(record.key), shown));
    }
    if (const std::int64_t fromNs = process.raw().eventsFromNs; fromNs != 0)
        GD_TRY(insert.runWith(process.processId(), "events_from_ns", std::to_string(process.time(fromNs))));
    return {};
}

Result<void> importEnvironment(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO env_var(process_id, name, value) VALUES (?, ?, ?)"));
    for (const raw::EnvVar& record : process.raw().envVars) {
        const auto name = process.text(record.name);
        if (!name)
            continue;
        const std::string value
            = isSecretName(*name) ? std::string(kMask) : process.text(record.value).value_or(std::string());
        GD_TRY(insert.runWith(process.processId(), *name, value));
    }
    return {};
}

Result<void> importThreads(ProcessImport& process) {
    std::map<raw::ThreadRef, raw::Thread> threads;
    for (const raw::Thread& record : process.raw().threads) {
        const auto [found, isNew] = threads.emplace(record.thread, record);
        if (!isNew && record.name != 0)
            found->second.name = record.name;
        found->second.timeNs = std::min(found->second.timeNs, record.timeNs);
    }
    // Events of a thread whose record was lost keep their thread.
    for (const auto& [thread, events] : process.raw().threadEvents) {
        raw::Thread unknown{};
        unknown.thread = thread;
        unknown.timeNs = process.raw().firstNs;
        if (thread != 0)
            threads.emplace(thread, unknown);
    }
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO thread(process_id, thread_id, tid, name, first_ns) VALUES (?, ?, ?, ?, ?)"));
    for (const auto& [thread, record] : threads)
        GD_TRY(insert.runWith(
            process.processId(), thread, record.tid, process.text(record.name), process.time(record.timeNs)));
    return {};
}

Result<void> importDevices(ProcessImport& process) {
    std::map<std::uint32_t, raw::Device> devices;
    for (const raw::Device& record : process.raw().devices) {
        raw::Device& device = devices.emplace(record.device, record).first->second;
        // Several sources report a device; each knows a part.
        device.name = record.name != 0 ? record.name : device.name;
        device.uuid = record.uuid != 0 ? record.uuid : device.uuid;
        device.memoryBytes = std::max(device.memoryBytes, record.memoryBytes);
        device.workers = std::max(device.workers, record.workers);
        device.multiprocessors = std::max(device.multiprocessors, record.multiprocessors);
        if (record.ccMajor != 0) {
            device.ccMajor = record.ccMajor;
            device.ccMinor = record.ccMinor;
        }
    }
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO device(process_id, device_id, name, uuid, memory_bytes, compute_capability, "
            "multiprocessors, workers, wakeup_p99_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [number, device] : devices) {
        std::optional<std::int64_t> wakeupNs;
        for (const raw::SchedulingNoise& noise : process.raw().noise) {
            if (noise.device == number)
                wakeupNs = noise.wakeupP99Ns;
        }
        std::optional<std::string> capability;
        if (device.ccMajor != 0)
            capability = fmt::format("{}.{}", device.ccMajor, device.ccMinor);
        GD_TRY(insert.runWith(process.processId(), number,
            process.text(device.name).value_or(fmt::format("device {}", number)), process.text(device.uuid),
            bits(device.memoryBytes), capability, idOrNull(device.multiprocessors), device.workers,
            wakeupNs));
    }
    return {};
}

// Creation and destruction of one object, put together.
template <class Record> struct Life {
    Record created{};
    bool hasCreated = false;
    std::int64_t destroyedNs = 0;
};

template <class Record> std::map<std::uint64_t, Life<Record>> livesOf(const std::vector<Record>& records) {
    std::map<std::uint64_t, Life<Record>> lives;
    for (const Record& record : records) {
        Life<Record>& life = lives[record.id];
        if (record.life == static_cast<std::uint16_t>(raw::Life::Destroyed)) {
            life.destroyedNs = record.timeNs;
            if (!life.hasCreated)
                life.created = record;
        } else if (!life.hasCreated) {
            life.created = record;
            life.hasCreated = true;
        }
    }
    return lives;
}

Result<void> importContexts(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO context(process_id, context_id, device_id, created_ns, "
                             "destroyed_ns) VALUES (?, ?, ?, ?, ?)"));
    for (const auto& [id, life] : livesOf(process.raw().contexts)) {
        const std::int64_t createdNs = life.hasCreated ? process.time(life.created.timeNs) : process.startNs;
        GD_TRY(insert.runWith(process.processId(), bits(id), life.created.device, createdNs,
            process.timeIfSet(life.destroyedNs)));
    }
    return {};
}

Result<void> importStreams(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO stream(process_id, stream_id, device_id, context_id, non_blocking, "
            "priority, created_ns, destroyed_ns, created_stack_id) VALUES (?, ?, ?, ?, ?, ?, "
            "?, ?, ?)"));
    const auto lives = livesOf(process.raw().streams);
    for (const auto& [id, life] : lives) {
        const std::int64_t createdNs = life.hasCreated ? process.time(life.created.timeNs) : process.startNs;
        const auto flag = valueIf(life.hasCreated, life.created.flags & 1);
        const auto priority = valueIf(life.hasCreated, life.created.priority);
        GD_TRY(insert.runWith(process.processId(), bits(id), life.created.device,
            idOrNull(life.created.context), flag, priority, createdNs, process.timeIfSet(life.destroyedNs),
            process.stackId(life.hasCreated ? life.created.stack : 0)));
    }
    for (const auto& [id, seen] : process.seenStreams) {
        if (lives.contains(id))
            continue;
        // The legacy default stream is never created; it is what the others do or do not synchronise with.
        const auto flag = valueIf(id == raw::kLegacyStream, 0);
        GD_TRY(insert.runWith(process.processId(), bits(id), seen.device, nullptr, flag, nullptr,
            process.time(seen.firstNs), nullptr, nullptr));
    }
    return {};
}

Result<void> importEvents(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO event(process_id, event_id, device_id, flags, created_ns, "
                             "destroyed_ns) VALUES (?, ?, ?, ?, ?, ?)"));
    for (const auto& [id, life] : livesOf(process.raw().events)) {
        const std::int64_t createdNs = life.hasCreated ? process.time(life.created.timeNs) : process.startNs;
        GD_TRY(insert.runWith(process.processId(), bits(id), life.created.device, life.created.flags,
            createdNs, process.timeIfSet(life.destroyedNs)));
    }
    return {};
}

} // namespace

Result<void> importProcessTables(ProcessImport& process) {
    const Place place = placeOf(process);
    const auto optionalText = [&](std::string_view key) -> std::optional<std::string> {
        const auto value = fact(process, key);
        return value ? std::optional(process.job().cleaner.clean(*value)) : std::nullopt;
    };
    std::optional<std::string> commandLine;
    if (const auto value = fact(process, "command_line"))
        commandLine = process.job().cleaner.clean(maskSecrets(*value));
    GD_TRY_ASSIGN(Statement update,
        process.db().prepare("UPDATE process SET rank = ?, world_size = ?, command_line = ?, executable = ?, "
                             "runtime = ? WHERE process_id = ?"));
    GD_TRY(update.runWith(place.rank, place.worldSize, commandLine, optionalText("executable"),
        optionalText("runtime"), process.processId()));
    GD_TRY(importFacts(process));
    GD_TRY(importEnvironment(process));
    GD_TRY(importThreads(process));
    GD_TRY(importDevices(process));
    GD_TRY(importContexts(process));
    GD_TRY(importStreams(process));
    return importEvents(process);
}

} // namespace gd::importer
