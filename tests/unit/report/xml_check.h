// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gd::test {

// What a strict look at an XML 1.0 document found.
struct XmlCheck {
    std::string problem; // empty = well-formed
    std::map<std::string, int> elements;
    int count(const std::string& name) const {
        const auto it = elements.find(name);
        return it == elements.end() ? 0 : it->second;
    }
};

// Well-formedness of a document with elements, attributes in double quotes, text and the five named entities;
// comments, CDATA and processing instructions other than the declaration are problems here.
XmlCheck checkXml(std::string_view document);

} // namespace gd::test
