# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: what most sources of a group read is parsed once for the group, not once for each source.
# That takes 25 to 50 % off a source. A compiler cache gains more and cannot use them, so they are off beside it.
# Not a cached variable: a folder configured before there was a compiler cache is built without them afterwards.
if(NOT DEFINED GD_PRECOMPILE)
    get_filename_component(gd_compiler "${CMAKE_CXX_COMPILER}" REALPATH)
    if(CMAKE_CXX_COMPILER_LAUNCHER OR gd_compiler MATCHES "ccache$")
        set(GD_PRECOMPILE OFF)
    else()
        set(GD_PRECOMPILE ON)
    endif()
endif()
gd_note("precompiled headers" "${GD_PRECOMPILE}" "on where no compiler cache is used, or as GD_PRECOMPILE says")

# What most sources of every part read. Not <iostream>: it starts the streams in each library that reads it.
set(GD_COMMON_HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
    <optional> <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)

# gd_header_group(name [PROGRAM] LIBS ... [OPTIONS ...] HEADERS ...)
# A group for gd_precompile. Precompiled headers are right only under the flags they were made with: PROGRAM (the targets
# are programs, not libraries), LIBS and OPTIONS must give all of them, and the macros that the headers read.
# -Winvalid-pch finds a wrong macro, not every wrong flag.
function(gd_header_group name)
    if(NOT GD_PRECOMPILE)
        return()
    endif()
    cmake_parse_arguments(arg "PROGRAM" "" "LIBS;OPTIONS;HEADERS" ${ARGN})
    set(source "${PROJECT_BINARY_DIR}/precompiled/${name}.cpp")
    file(GENERATE OUTPUT "${source}" CONTENT "// A group of headers needs a source.\n")
    add_library(gd_headers_${name} OBJECT "${source}")
    target_link_libraries(gd_headers_${name} PRIVATE ${arg_LIBS})
    target_compile_options(gd_headers_${name} PRIVATE ${arg_OPTIONS})
    if(arg_PROGRAM)
        target_compile_options(gd_headers_${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
    endif()
    target_precompile_headers(gd_headers_${name} PRIVATE ${arg_HEADERS})
endfunction()

# g++ before 13 forgets the `#pragma GCC diagnostic` of precompiled headers (its bug 64117). What libstdc++ silences of the
# optimiser's warnings can come up then, so these are shown and no errors; without precompiled headers they are errors.
set(gd_precompile_no_errors "")
foreach(warning IN ITEMS array-bounds dangling-pointer free-nonheap-object maybe-uninitialized nonnull null-dereference
        restrict stringop-overflow stringop-overread stringop-truncation uninitialized use-after-free)
    list(APPEND gd_precompile_no_errors -Wno-error=${warning})
endforeach()

# gd_precompile(group target...): these targets read the headers of the group precompiled.
function(gd_precompile group)
    if(NOT GD_PRECOMPILE)
        return()
    endif()
    foreach(target IN LISTS ARGN)
        target_precompile_headers(${target} REUSE_FROM gd_headers_${group})
        if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
            target_compile_options(${target} PRIVATE ${gd_precompile_no_errors})
        endif()
    endforeach()
endfunction()
