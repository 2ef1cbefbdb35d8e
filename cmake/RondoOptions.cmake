# Options, language level, warnings and sanitizers, applied to every target of this project.
# As a part of another project (add_subdirectory, FetchContent) only the libraries are built, and nothing that belongs to
# that project is changed: its build type, its warnings, its installation.
option(RONDO_BUILD_TESTS "Build the tests; needs GoogleTest" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_BUILD_TOOLS "Build the programs rondo-topo, rondo-train and vgpu-run; needs CLI11, zstd and LZ4" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_BUILD_BENCHMARKS "Build rondo-bench and other benchmarks; needs the tools and Google Benchmark" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_BUILD_SAMPLES "Build the sample programs; needs CLI11" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_INSTALL "Let `cmake --install` install Rondo" ${PROJECT_IS_TOP_LEVEL})
option(RONDO_USE_CCACHE "Compile through ccache when it is installed" ${PROJECT_IS_TOP_LEVEL})
if((RONDO_BUILD_TESTS OR RONDO_BUILD_BENCHMARKS) AND NOT RONDO_BUILD_TOOLS)
  message(FATAL_ERROR "RONDO_BUILD_TESTS and RONDO_BUILD_BENCHMARKS need RONDO_BUILD_TOOLS, which is OFF")
endif()
set(RONDO_SANITIZER "" CACHE STRING "Empty, 'address' (with undefined) or 'thread'")
set_property(CACHE RONDO_SANITIZER PROPERTY STRINGS "" address thread)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)  # the shared libraries export what RONDO_API names
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# Line tables are enough for stack traces, and are a third of the whole. Whoever wants more says so.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_FLAGS_RELWITHDEBINFO STREQUAL "-O2 -g -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
endif()

# Compilers that nobody has tried yet may know new warnings, and a user can't fix those: there they only warn.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(rondo_known_compiler ON)
else()
  set(rondo_known_compiler OFF)
endif()
option(RONDO_WERROR "Treat warnings as errors (on by default for compilers that CI uses, off in other projects)" ${rondo_known_compiler})

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old for C++20: version 11 or newer is needed")
endif()

if(RONDO_USE_CCACHE)
  find_program(RONDO_CCACHE ccache)
  mark_as_advanced(RONDO_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(RONDO_CCACHE AND NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${RONDO_CCACHE}")
    endif()
  endforeach()
endif()

add_library(rondo_flags INTERFACE)
target_compile_options(rondo_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wno-psabi>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wno-psabi>")
# Errors name the source file that they come from: relative to the project, not with the folders of this machine.
target_compile_options(rondo_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")
# GCC takes the sources of a unity file for headers, in which anonymous namespaces would be mistakes, and what one source has
# at file scope is shadowed by the locals of the next.
target_compile_options(rondo_flags INTERFACE
  "$<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage;-Wno-shadow>")
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

if(RONDO_SANITIZER STREQUAL "address")
  set(rondo_sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(RONDO_SANITIZER STREQUAL "thread")
  set(rondo_sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT RONDO_SANITIZER STREQUAL "")
  message(FATAL_ERROR "RONDO_SANITIZER is '${RONDO_SANITIZER}'; it must be empty, 'address' or 'thread'")
endif()
if(RONDO_SANITIZER)
  # Line tables are enough for reports, and -O1 halves the time to build. GCC then takes values that it no longer follows for
  # uninitialised ones.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-O1;-g1;-Wno-maybe-uninitialized;${rondo_sanitize}>")
  add_link_options(${rondo_sanitize})
endif()
