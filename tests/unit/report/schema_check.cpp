// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/report/schema_check.h"

#include <algorithm>
#include <set>

namespace gd::test {
namespace {

using Json = nlohmann::json;

bool hasType(const Json& value, const std::string& type) {
    if (type == "object")
        return value.is_object();
    if (type == "array")
        return value.is_array();
    if (type == "string")
        return value.is_string();
    if (type == "integer")
        return value.is_number_integer();
    if (type == "number")
        return value.is_number();
    if (type == "boolean")
        return value.is_boolean();
    return type == "null" && value.is_null();
}

class Checker {
public:
    explicit Checker(const Json& root)
        : m_root(root) { }

    void check(const Json& schema, const Json& value, const std::string& path) {
        static const std::set<std::string> kKnown
            = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "properties",
                "additionalProperties", "items", "enum", "const", "minimum"};
        for (const auto& [keyword, unused] : schema.items()) {
            if (!kKnown.contains(keyword))
                m_out.push_back(path + ": the check does not know the keyword " + keyword);
        }
        if (schema.contains("$ref")) {
            const std::string pointer = schema["$ref"].get<std::string>().substr(1);
            check(m_root.at(Json::json_pointer(pointer)), value, path);
        }
        checkValue(schema, value, path);
        if (value.is_object())
            checkObject(schema, value, path);
        if (value.is_array() && schema.contains("items")) {
            for (std::size_t i = 0; i < value.size(); ++i)
                check(schema["items"], value[i], path + "/" + std::to_string(i));
        }
    }

    std::vector<std::string> take() { return std::move(m_out); }

private:
    void checkValue(const Json& schema, const Json& value, const std::string& path) {
        if (schema.contains("type")) {
            const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
            if (std::none_of(types.begin(), types.end(),
                    [&](const Json& type) { return hasType(value, type.get<std::string>()); }))
                m_out.push_back(path + ": " + value.dump() + " is not of type " + types.dump());
        }
        if (schema.contains("enum")
            && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
            m_out.push_back(path + ": " + value.dump() + " is none of " + schema["enum"].dump());
        if (schema.contains("const") && schema["const"] != value)
            m_out.push_back(path + ": " + value.dump() + " is not " + schema["const"].dump());
        if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
            m_out.push_back(path + ": " + value.dump() + " is below " + schema["minimum"].dump());
    }

    void checkObject(const Json& schema, const Json& value, const std::string& path) {
        for (const Json& key : schema.value("required", Json::array())) {
            if (!value.contains(key.get<std::string>()))
                m_out.push_back(path + ": lacks " + key.get<std::string>());
        }
        const Json none = Json::object();
        const Json& properties = schema.contains("properties") ? schema["properties"] : none;
        for (const auto& [key, member] : value.items()) {
            if (properties.contains(key))
                check(properties[key], member, path + "/" + key);
            else if (schema.contains("additionalProperties"))
                check(schema["additionalProperties"], member, path + "/" + key);
            else if (!properties.empty())
                m_out.push_back(path + ": " + key + " is not in the schema");
        }
    }

    const Json& m_root;
    std::vector<std::string> m_out;
};

} // namespace

std::vector<std::string> schemaViolations(const Json& schema, const Json& document) {
    Checker checker(schema);
    checker.check(schema, document, "");
    return checker.take();
}

} // namespace gd::test
