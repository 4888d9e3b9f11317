// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gdt::data {

/// What the bytes of a data file mean: one token a byte, or little-endian numbers as tokenizers write them.
enum class TokenFormat { Bytes, Uint16, Int32 };

[[nodiscard]] std::size_t tokenBytes(TokenFormat format);

/// The tokens of a file, each less than `vocab`, at least `leastTokens` of them. On
/// failure returns nothing and puts one sentence with file and position into `problem`.
[[nodiscard]] std::vector<std::int32_t> readTokenFile(const std::string& path, TokenFormat format,
    std::int64_t vocab, std::int64_t leastTokens, std::string& problem);

} // namespace gdt::data
