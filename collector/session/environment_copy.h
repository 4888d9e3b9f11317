// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace gd::session {

/// The job's environment as it was when the session opened. The C library lets nobody read it while another
/// thread changes it: setenv() moves the table and frees the old one, and a thread of ours that runs beside
/// the job's would end the job in SIGSEGV. So the thread of the job that opens the session takes this copy,
/// at a moment at which the driver reads the environment on the same thread, and our threads read the copy.
/// Lives as long as the process.
class EnvironmentCopy {
public:
    /// Without memory the copy stays empty.
    void take() noexcept;
    /// Like getenv().
    const char* variable(std::string_view name) const noexcept;
    /// Calls `visit` with each "NAME=value".
    template <class Visit> void forEach(Visit visit) const noexcept {
        for (std::string_view left = m_text; !left.empty();) {
            const std::size_t end = left.find('\0');
            visit(left.substr(0, end));
            left.remove_prefix(end + 1);
        }
    }

private:
    std::string_view m_text; ///< entries, each ended with a 0
};

} // namespace gd::session
