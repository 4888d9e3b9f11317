# SPDX-License-Identifier: Apache-2.0
# gd_options: the flags of every target of ours. gd_sqlite, gd_dw: dependencies, static under GD_STATIC_DEPS.
add_library(gd_options INTERFACE)
target_compile_options(gd_options INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -fvisibility=hidden
      -fno-omit-frame-pointer -g1>
    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
    $<$<AND:$<BOOL:${GD_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
target_include_directories(gd_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(gd_options INTERFACE Threads::Threads)
if(GD_SANITIZE)
    target_compile_options(gd_options INTERFACE -fsanitize=${GD_SANITIZE} -fno-sanitize-recover=undefined)
    target_link_options(gd_options INTERFACE -fsanitize=${GD_SANITIZE})
endif()

add_library(gd_sqlite INTERFACE)
add_library(gd_dw INTERFACE)
if(GD_STATIC_DEPS)
    # Those that no shared build needs are not in scripts/packages.txt: one sentence instead of a linker's.
    foreach(library sqlite3 dw elf z lzma bz2 zstd)
        find_library(GD_STATIC_${library} lib${library}.a)
        mark_as_advanced(GD_STATIC_${library})
        if(NOT GD_STATIC_${library})
            message(FATAL_ERROR "GD_STATIC_DEPS wants lib${library}.a, which is not there (Debian: libsqlite3-dev, libdw-dev, "
                "libelf-dev, zlib1g-dev, liblzma-dev, libbz2-dev and libzstd-dev have these libraries)")
        endif()
    endforeach()
    target_link_libraries(gd_sqlite INTERFACE libsqlite3.a ${CMAKE_DL_LIBS} m)
    target_link_libraries(gd_dw INTERFACE libdw.a libelf.a libz.a liblzma.a libbz2.a libzstd.a ${CMAKE_DL_LIBS})
    add_library(gd_fmt ALIAS fmt::fmt-header-only)
else()
    target_link_libraries(gd_sqlite INTERFACE SQLite::SQLite3)
    target_link_libraries(gd_dw INTERFACE ${GD_LIBDW} ${GD_LIBELF})
    add_library(gd_fmt ALIAS fmt::fmt)
endif()

# gd_add_test(NAME name LABEL unit|rules|gui|e2e|trainer|trainer-full|gpu|bench SOURCES ... LIBS ... [TIMEOUT s] [SERIAL])
# One GoogleTest program; each TEST becomes a CTest entry. SERIAL: it judges times and must not share the machine.
include(GoogleTest OPTIONAL)
function(gd_add_test)
    cmake_parse_arguments(arg "SERIAL" "NAME;LABEL;TIMEOUT" "SOURCES;LIBS;DEFINITIONS" ${ARGN})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    add_executable(${arg_NAME} ${arg_SOURCES})
    target_link_libraries(${arg_NAME} PRIVATE gd_options ${arg_LIBS} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${arg_NAME} PRIVATE ${arg_DEFINITIONS})
    # Of the groups of headers in tests/CMakeLists.txt that with the test's flags: those of the trainer come with it.
    target_compile_definitions(${arg_NAME} PRIVATE $<TARGET_PROPERTY:gd_fmt,INTERFACE_COMPILE_DEFINITIONS>)
    if(arg_LIBS MATCHES "gdt_")
        gd_precompile(trainer_test ${arg_NAME})
    elseif(NOT arg_LABEL STREQUAL gui)
        gd_precompile(test ${arg_NAME})
    endif()
    set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    # The name of a parameter, not its value: a value may be an address, or another one each time.
    gtest_discover_tests(${arg_NAME} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
        PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_SERIAL})
endfunction()
