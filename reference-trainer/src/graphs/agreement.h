// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

namespace gdt::graphs {

/// Whether all ranks succeeded. A captured collective must be captured on every rank, so a capture counts
/// only when it succeeded everywhere, and a fallback is everybody's fallback.
class Agreement {
public:
    virtual ~Agreement() = default;
    /// Called by all ranks for the same capture; waits for the slowest. A rank that cannot be reached counts
    /// as refusing.
    virtual bool everyone(bool ok) = 0;
};

/// For a job of one rank.
class LoneAgreement final : public Agreement {
public:
    bool everyone(bool ok) override { return ok; }
};

/// Counts the refusals with one all-reduce on a stream and a communicator of its own, outside any capture and
/// only where graphs are captured, so that steady state needs no message.
class CommunicatorAgreement final : public Agreement {
public:
    CommunicatorAgreement(runtime::Device& device, comm::Communicator& communicator);
    ~CommunicatorAgreement() override;
    CommunicatorAgreement(const CommunicatorAgreement&) = delete;
    CommunicatorAgreement& operator=(const CommunicatorAgreement&) = delete;

    runtime::Status open();
    bool everyone(bool ok) override;

private:
    runtime::Status count(double* refusals);

    runtime::Device& m_device;
    comm::Communicator& m_communicator;
    runtime::Stream m_stream;
    double* m_word = nullptr; // device
};

} // namespace gdt::graphs
