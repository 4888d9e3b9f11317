// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <filesystem>
#include <string_view>

namespace gd::cli {

// A folder below the system's folder for temporary files, gone with this object.
class ScratchFolder {
public:
    // `purpose` becomes part of its name. Fails, naming the folder, where none can be made.
    static Result<ScratchFolder> make(std::string_view purpose);
    ScratchFolder(ScratchFolder&& other) noexcept;
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder();
    std::string file(const char* name) const { return (m_path / name).string(); }

private:
    explicit ScratchFolder(std::filesystem::path path);
    std::filesystem::path m_path;
};

} // namespace gd::cli
