// SPDX-License-Identifier: Apache-2.0
#include "comm/signature.h"

#include "collector/api/graphdoctor_runtime.h"
#include "comm/communicator.h"

namespace gdt::comm {

namespace {

const char* kindName(std::uint32_t kind) {
    switch (kind) {
    case GD_RT_COMM_ALL_REDUCE:
        return "all-reduce";
    case GD_RT_COMM_REDUCE_SCATTER:
        return "reduce-scatter";
    case GD_RT_COMM_ALL_GATHER:
        return "all-gather";
    case GD_RT_COMM_BROADCAST:
        return "broadcast";
    case GD_RT_COMM_SEND:
        return "send";
    case GD_RT_COMM_RECV:
        return "receive";
    default:
        return "unknown operation";
    }
}

const char* typeName(std::uint32_t type) {
    switch (static_cast<DataType>(type)) {
    case DataType::Uint8:
        return "uint8";
    case DataType::Int32:
        return "int32";
    case DataType::Int64:
        return "int64";
    case DataType::Float16:
        return "float16";
    case DataType::Float32:
        return "float32";
    case DataType::Float64:
        return "float64";
    case DataType::BFloat16:
        return "bfloat16";
    }
    return "unknown type";
}

bool reduces(std::uint32_t kind) {
    return kind == GD_RT_COMM_ALL_REDUCE || kind == GD_RT_COMM_REDUCE_SCATTER;
}

} // namespace

Signature signatureOf(const runtime::CommArguments& arguments, bool captured, std::uint64_t operation) {
    Signature signature;
    signature.operation = operation;
    signature.count = arguments.count;
    signature.kind = arguments.kind;
    signature.dataType = arguments.dataType;
    signature.reduceOp = arguments.reduceOp;
    signature.root = arguments.root;
    signature.captured = captured ? 1U : 0U;
    return signature;
}

std::string describe(const Signature& signature, const std::vector<int>& jobRanks) {
    const auto root = static_cast<std::size_t>(signature.root);
    const std::string peer
        = signature.root >= 0 && root < jobRanks.size() ? std::to_string(jobRanks[root]) : std::string("?");
    std::string text = kindName(signature.kind);
    text += " of " + std::to_string(signature.count) + " " + typeName(signature.dataType);
    if (reduces(signature.kind) && signature.reduceOp == static_cast<std::uint32_t>(ReduceOp::Max))
        text += " (maximum)";
    if (signature.kind == GD_RT_COMM_BROADCAST || signature.kind == GD_RT_COMM_RECV)
        text += " from rank " + peer;
    if (signature.kind == GD_RT_COMM_SEND)
        text += " to rank " + peer;
    text += signature.captured != 0 ? ", in a graph," : ", not in a graph,";
    return text + " as operation " + std::to_string(signature.operation);
}

bool sameMessage(const Signature& send, const Signature& receive) {
    return send.operation == receive.operation && send.count == receive.count
        && send.dataType == receive.dataType && send.captured == receive.captured;
}

} // namespace gdt::comm
