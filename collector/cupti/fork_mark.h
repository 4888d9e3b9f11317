// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::cupti {

/// Remembers the process it was made in. A forked child inherits the subscription, but also locks in whatever
/// state they were: there every callback must return before it touches anything. One word is read; no system
/// call.
class ForkMark {
public:
    ForkMark() noexcept;
    bool isSameProcess() const noexcept { return *m_word != 0; }

private:
    const volatile unsigned* m_word; ///< on a page that a child finds zeroed
};

} // namespace gd::cupti
