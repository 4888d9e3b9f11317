// SPDX-License-Identifier: Apache-2.0
#include "cli/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gd::cli {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(fs::path path)
    : m_path(std::move(path)) { }

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : m_path(std::exchange(other.m_path, {})) { }

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    if (!m_path.empty())
        fs::remove_all(m_path, ignored);
}

Result<ScratchFolder> ScratchFolder::make(std::string_view purpose) {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error)
        return fail(ErrorCode::io, "no folder for temporary files (TMPDIR, else /tmp): {}", error.message());
    std::string name = (parent / fmt::format("graphdoctor-{}-XXXXXX", purpose)).string();
    if (mkdtemp(name.data()) == nullptr)
        return fail(ErrorCode::io, "no temporary folder can be made like {}: {}", name,
            std::generic_category().message(errno));
    return ScratchFolder(name);
}

} // namespace gd::cli
