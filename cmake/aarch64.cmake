# Toolchain file: cross-compiles for 64-bit Arm with Debian's compiler, against packages that scripts/test-aarch64
# unpacked into one folder, and runs programs in QEMU's user mode.
#   RONDO_AARCH64_PACKAGES   that folder (default: build/aarch64-packages in the checkout)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
if(NOT RONDO_AARCH64_PACKAGES)
  cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR OUTPUT_VARIABLE RONDO_AARCH64_PACKAGES)
  string(REGEX REPLACE "/cmake$" "/build/aarch64-packages" RONDO_AARCH64_PACKAGES "${RONDO_AARCH64_PACKAGES}")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RONDO_AARCH64_PACKAGES)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT "${RONDO_AARCH64_PACKAGES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # NVIDIA's headers are the same for all processors
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${CMAKE_SYSROOT}")
