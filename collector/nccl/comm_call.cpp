// SPDX-License-Identifier: Apache-2.0
#include "collector/nccl/comm_call.h"

#include <array>

namespace gd::nccl {

namespace {

struct KindName {
    std::string_view name;
    gd_rt_comm_kind kind;
};

constexpr std::array kKinds{
    KindName{"AllReduce", GD_RT_COMM_ALL_REDUCE},
    KindName{"ReduceScatter", GD_RT_COMM_REDUCE_SCATTER},
    KindName{"AllGather", GD_RT_COMM_ALL_GATHER},
    KindName{"Broadcast", GD_RT_COMM_BROADCAST},
    KindName{"Bcast", GD_RT_COMM_BROADCAST},
    KindName{"Reduce", GD_RT_COMM_REDUCE},
    KindName{"Send", GD_RT_COMM_SEND},
    KindName{"Recv", GD_RT_COMM_RECV},
    KindName{"AlltoAll", GD_RT_COMM_ALL_TO_ALL},
};

struct TypeName {
    std::string_view name;
    gd_rt_dtype dtype;
};

constexpr std::array kTypes{
    TypeName{"Int8", GD_RT_INT8},
    TypeName{"Char", GD_RT_INT8},
    TypeName{"Uint8", GD_RT_UINT8},
    TypeName{"Int32", GD_RT_INT32},
    TypeName{"Int", GD_RT_INT32},
    TypeName{"Uint32", GD_RT_UINT32},
    TypeName{"Int64", GD_RT_INT64},
    TypeName{"Uint64", GD_RT_UINT64},
    TypeName{"Float16", GD_RT_FLOAT16},
    TypeName{"Half", GD_RT_FLOAT16},
    TypeName{"Float32", GD_RT_FLOAT32},
    TypeName{"Float", GD_RT_FLOAT32},
    TypeName{"Float64", GD_RT_FLOAT64},
    TypeName{"Double", GD_RT_FLOAT64},
    TypeName{"Bfloat16", GD_RT_BFLOAT16},
    TypeName{"Float8e4m3", GD_RT_FLOAT8_E4M3},
    TypeName{"Float8e5m2", GD_RT_FLOAT8_E5M2},
};

std::string_view withoutPrefix(std::string_view name) noexcept {
    constexpr std::string_view kPrefix = "nccl";
    return name.substr(0, kPrefix.size()) == kPrefix ? name.substr(kPrefix.size()) : name;
}

} // namespace

gd_rt_comm_kind kindOf(std::string_view function) noexcept {
    constexpr std::string_view kSuffix = "Config";
    std::string_view name = withoutPrefix(function);
    if (name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix) {
        name.remove_suffix(kSuffix.size());
    }
    for (const KindName& entry : kKinds) {
        if (entry.name == name) {
            return entry.kind;
        }
    }
    return static_cast<gd_rt_comm_kind>(0);
}

bool hasRoot(std::string_view function) noexcept {
    const gd_rt_comm_kind kind = kindOf(function);
    return kind == GD_RT_COMM_BROADCAST || kind == GD_RT_COMM_REDUCE;
}

int dtypeOf(std::string_view name) noexcept {
    const std::string_view bare = withoutPrefix(name);
    for (const TypeName& entry : kTypes) {
        if (entry.name == bare) {
            return entry.dtype;
        }
    }
    return -1;
}

} // namespace gd::nccl
