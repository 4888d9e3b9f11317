// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::stacks {

/// Around every call of dl_iterate_phdr() of ours, for the shortest time. glibc's fork() leaves the lock of
/// the loader's list as it is: held by a thread that the child does not have, it stays so, and the child
/// waits for ever in its first dlopen(), dlclose() or dl_iterate_phdr() (seen with 2.36). So a fork waits
/// until no thread is in here, and none enters meanwhile. Children of vfork(), posix_spawn() and clone() call
/// no handlers; they have nothing to load before their exec.
class LoaderLook {
public:
    LoaderLook() noexcept;
    ~LoaderLook();
    LoaderLook(const LoaderLook&) = delete;
    LoaderLook& operator=(const LoaderLook&) = delete;
};

} // namespace gd::stacks
