// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gd::test {

// Checks a document against the part of JSON Schema that docs/report.schema.json uses: type, required,
// properties, additionalProperties (as a schema), items, enum, const, minimum and local $ref. Returns one
// sentence per violation. A keyword outside that part is a violation too, so that the schema cannot say more
// than is checked. Unknown members of a closed object are reported: a new field must enter the schema.
std::vector<std::string> schemaViolations(const nlohmann::json& schema, const nlohmann::json& document);

} // namespace gd::test
