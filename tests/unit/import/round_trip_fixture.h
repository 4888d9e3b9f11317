// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/import/import_fixture.h"

#include <cstdint>
#include <optional>

namespace gd::test {

constexpr std::int64_t kStart = 1'000'000'000; // of the process that builder() writes

// One process whose records a test writes by hand; finish() ends it and imports the spool.
class RoundTrip : public ImportFixture {
protected:
    SpoolWriter& builder() {
        if (!m_builder) {
            m_builder.emplace(spool());
            m_builder->start();
        }
        return *m_builder;
    }
    void finish() {
        builder().end(kStart + 1'000'000);
        builder().writeSegment();
        import();
    }

private:
    std::optional<SpoolWriter> m_builder;
};

} // namespace gd::test
