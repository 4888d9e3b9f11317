#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: collector_symbols.sh LIBRARY
# Fails when the library needs GLIBC newer than 2.34 or anything of libstdc++ or libgcc_s, or shows other symbols than
# its entry points.
library=$1
symbols=$(objdump -T "$library") || exit 1
if echo "$symbols" | grep -qE '__(asan|tsan|ubsan)_'; then
    echo "sanitized library: skipped"
    exit 77
fi
status=0
newer=$(echo "$symbols" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u | awk -F. '$2 > 34')
foreign=$(echo "$symbols" | grep -E 'GLIBCXX|CXXABI|GCC_[0-9]')
needed=$(objdump -p "$library" | awk '/NEEDED/ { print $2 }' | grep -vE '^(libc|ld-linux-x86-64)\.so\.[0-9]+$')
shown=$(echo "$symbols" | awk '/ g / && !/\*UND\*/ { print $NF }' \
    | grep -vxE 'InitializeInjection|InitializeInjectionNvtx2|InitializeInjectionNvtxExtension|ncclProfiler_v[45]|graphdoctor_runtime_attach')
if [ -n "$newer" ]; then
    echo "needs newer glibc symbols:"
    for version in $newer; do
        echo "$symbols" | grep -F "$version"
    done
    status=1
fi
if [ -n "$foreign" ]; then
    echo "needs a C++ library: $foreign"
    status=1
fi
if [ -n "$needed" ]; then
    echo "needs other libraries: $needed"
    status=1
fi
if [ -n "$shown" ]; then
    echo "shows more than its entry points: $shown"
    status=1
fi
if ! echo "$symbols" | grep -q graphdoctor_runtime_attach; then
    echo "graphdoctor_runtime_attach is not exported"
    status=1
fi
exit $status
