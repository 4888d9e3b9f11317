// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/fd.h"
#include "analyzer/base/result.h"
#include "cli/run/job_identity.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gd::run {

using base::Fd;

// Folder of this user in which all spool folders lie:
// ${GRAPHDOCTOR_SPOOL_DIR:-${TMPDIR:-/tmp}}/graphdoctor-<uid>.
std::filesystem::path userFolder(const ReadVariable& read);
// Where rings of this user may lie: $XDG_RUNTIME_DIR, /dev/shm, the spool folder itself.
std::vector<std::filesystem::path> ringFolders(const ReadVariable& read, const std::filesystem::path& spool);

// A folder with mode 0700 that belongs to this user; made when it is missing. One that is a link, belongs to
// somebody else or that others may enter is refused.
Result<void> ensurePrivateFolder(const std::filesystem::path& folder);

// The spool folder of one run, or of several `graphdoctor run` of one job on this host. Each registers in it
// with a file that it keeps locked as long as it lives: the kernel drops the lock even after SIGKILL, so that
// the dead are told from the living across pid namespaces.
class SpoolFolder {
public:
    // Joins the folder of that key, or makes it. A folder whose runs have all ended is not joined: another
    // one is made beside it. `output` is the trace that this run would write.
    static Result<SpoolFolder> join(
        const std::filesystem::path& user, const std::string& key, const std::string& output);
    SpoolFolder(SpoolFolder&&) noexcept = default;
    SpoolFolder& operator=(SpoolFolder&&) = delete;

    const std::filesystem::path& path() const { return m_path; }
    bool isFirst() const { return m_first; } // nobody had joined before
    // Keeps what only this run knows for the one that imports.
    void noteEnd(pid_t pid, int status);
    // Ends the recording of this run. True: this was the last, nobody can join any more, and it must import;
    // it stays registered until this object goes, so that no other run takes the spool for a leftover
    // meanwhile.
    Result<bool> leave();
    int joined() const; // runs that ever joined
    std::vector<std::pair<std::int64_t, int>> ends() const; // (pid, status) of all runs' commands

private:
    SpoolFolder(std::filesystem::path path, Fd registration, std::filesystem::path file, bool first);

    std::filesystem::path m_path;
    Fd m_registration;
    std::filesystem::path m_file;
    bool m_first;
};

// The part of a segment's file name before ".seg": host, pid, start, random.
struct SegmentStem {
    std::string stem;
    std::string host;
    std::int64_t pid = 0;
    std::uint64_t bytes = 0; // with its events
};
std::vector<SegmentStem> segmentsIn(const std::filesystem::path& spool);

// Says in the folder that its trace was written: from now on it is only rubbish.
void markImported(const std::filesystem::path& spool);
// Removes the spool and the rings of its segments.
void removeSpool(const std::filesystem::path& spool, const ReadVariable& read);

// A spool whose run and processes are all gone and that nobody imported.
struct Leftover {
    std::filesystem::path spool;
    std::string output; // what its run would have written, empty when unknown
};
// Finds leftovers of this user, except `own`, and removes spools that were imported or hold nothing.
std::vector<Leftover> sweepLeftovers(const std::filesystem::path& user, const std::filesystem::path& own,
    const std::string& host, const ReadVariable& read);

// A registration of a `graphdoctor run` in a spool folder.
struct RunEntry {
    std::int64_t pid = 0;
    std::string output;
    bool alive = false; // still recording
};
std::vector<RunEntry> runsIn(const std::filesystem::path& spool);
// Spool folders of this user, whatever state they are in.
std::vector<std::filesystem::path> spoolsOf(const std::filesystem::path& user);

// Removes rings of this user whose process and segment are both gone.
void sweepRings(const std::string& host, const ReadVariable& read);

// Pids of processes that recorded into the spool and still run on this host.
std::vector<std::int64_t> livingProcesses(const std::filesystem::path& spool, const std::string& host);

std::string randomKey(); // 16 hex digits

} // namespace gd::run
