// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"

#include <functional>
#include <string>
#include <vector>

namespace gd::test {

/// A spool folder that is filled by the real collector: bodies run in child processes in which a session
/// opens at its first record, exactly as in a job. The folder, and the rings that belong to it, go with the
/// object.
///
///     SpoolBuilder spool;
///     spool.run([] { gd::session::sink::alloc(...); });
///     importSpool(spool.path(), …);
class SpoolBuilder {
public:
    enum class Ending { Exit, Kill };

    /// `parentFolder`: where to make the folder; empty = the system's temporary folder.
    explicit SpoolBuilder(const std::string& parentFolder = {});
    ~SpoolBuilder();
    SpoolBuilder(const SpoolBuilder&) = delete;
    SpoolBuilder& operator=(const SpoolBuilder&) = delete;

    const std::string& path() const { return m_path; }
    /// An environment variable of the children started from now on.
    void setVariable(const std::string& name, const std::string& value);
    /// Creates or changes the control page.
    void setLevel(raw::RecordingLevel level);
    /// As `ctl` does: what windows of the environment say no longer counts.
    void startByHand();
    void stopByHand();
    void requestFlush();

    /// Runs `body` in a child and waits. The child then leaves by _exit(0) or kills itself with SIGKILL.
    /// Returns the wait status; a body that throws ends with exit status 99.
    int run(const std::function<void()>& body, Ending ending = Ending::Exit);
    /// Same, but does not wait: returns the child's pid.
    int start(const std::function<void()>& body, Ending ending = Ending::Exit);

    /// Segment files and the ring of each (may not exist any more), sorted by name.
    std::vector<std::string> segments() const;
    static std::string ringOf(const std::string& segment);

private:
    raw::ControlPage* page();

    std::string m_path;
    std::vector<std::pair<std::string, std::string>> m_variables;
    raw::ControlPage* m_page = nullptr;
};

} // namespace gd::test
