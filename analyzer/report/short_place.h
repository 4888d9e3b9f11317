// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gd::report {

// Call chains of C++ templates and of deep folders do not fit a terminal, and wrapped they cannot be read.
// What is left out is replaced by "…". All texts are clean (see plainLine); widths are in columns.

// The name with, as far as needed, "<…>" for template arguments and then "…::" for its first qualifiers. The
// last component stays, whatever its width. Names of operators and closures are taken as they are.
std::string shortFunction(std::string_view name, std::size_t width);

// The path with "…/" for as many of its first folders as needed; the file name stays, whatever its width.
std::string shortPath(std::string_view path, std::size_t width);

// "…/model/layer.cpp:111 in …::Layer<…>::forward"; `line` 0: unknown.
std::string shortPlace(
    std::string_view path, std::int64_t line, std::string_view function, std::size_t width);

} // namespace gd::report
