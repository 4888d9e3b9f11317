// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/kernel_name.h"

#include <gtest/gtest.h>

using gd::rules::shortKernelName;

namespace {

TEST(KernelName, LosesReturnTypeNamespacesAndArguments) {
    EXPECT_EQ(shortKernelName("scale(float*, float, int)"), "scale");
    EXPECT_EQ(shortKernelName("void ns::(anonymous namespace)::scale<float>(float*)"), "scale<float>");
    EXPECT_EQ(shortKernelName("void at::native::vectorized_elementwise_kernel<4, "
                              "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
                              "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"),
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, …>");
}

TEST(KernelName, NamesTheFunctionOfALambda) {
    EXPECT_EQ(shortKernelName("void at::native::vectorized_elementwise_kernel<4, "
                              "at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::"
                              "operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)"),
        "vectorized_elementwise_kernel<4, tanh_kernel_cuda, …>");
    EXPECT_EQ(shortKernelName("ns::launch(int)::{lambda(int)#1}::operator()(int) const"), "launch");
}

TEST(KernelName, KeepsTheTypeOfAnEnumerator) {
    EXPECT_EQ(shortKernelName("void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, true, "
                              "float>(float const*, at::native::TensorListAddresses, int)"),
        "lpnorm_cleanup<float, (NormType)1, float, true, float>");
    EXPECT_EQ(shortKernelName("void f<(anonymous namespace)::Op<int> >(int)"), "f<Op<int>>");
}

TEST(KernelName, CutsDeepAndLongTemplates) {
    EXPECT_EQ(shortKernelName("void cutlass::Kernel2<a::B<c::D<e::F<int> >, int> >(a::B<int>::Params)"),
        "Kernel2<B<D<…>, int>>");
    const std::string longName(90, 'k');
    EXPECT_EQ(shortKernelName("void ns::" + longName + "<int>(int)"), longName + "<…>");
}

TEST(KernelName, LeavesOtherTextAlone) {
    for (const char* name : {"all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "memcpy HtoD", "",
             "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32"})
        EXPECT_EQ(shortKernelName(name), name);
}

TEST(KernelName, SurvivesBrokenNames) {
    for (const char* name :
        {"<", ">", "a<", "a<b", "a>b<", "(", "a(", "::", "a::<", "{", "a<{", "(anonymous"})
        EXPECT_FALSE(shortKernelName(name).empty()) << name;
}

} // namespace
