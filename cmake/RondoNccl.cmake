# Finds NCCL, which only tests use: nccl.h is enough to compile what is written against it.
#   RONDO_NCCL_INCLUDE   where nccl.h is; empty when there is none
#   rondo::nccl          the library, where there is one
# Looks in RONDO_NCCL_ROOT, where scripts/setup put NCCL, beside CUDA, and in the system.
set(RONDO_NCCL_ROOT "" CACHE PATH "NCCL: a folder with include/nccl.h and lib/libnccl.so; empty: search")
if(RONDO_NCCL_ROOT)
  set(rondo_nccl_places "${RONDO_NCCL_ROOT}")
  set(rondo_nccl_only NO_DEFAULT_PATH)
else()
  set(rondo_nccl_places "${RONDO_SETUP_NCCL_ROOT}" ${rondo_cuda_places})
  list(REMOVE_ITEM rondo_nccl_places "")
  set(rondo_nccl_only "")
endif()

find_path(RONDO_NCCL_INCLUDE nccl.h HINTS ${rondo_nccl_places} PATH_SUFFIXES include NO_CACHE ${rondo_nccl_only})
if(NOT RONDO_NCCL_INCLUDE)
  set(RONDO_NCCL_INCLUDE "")
  message(STATUS "No NCCL: nccl.h was not found in ${rondo_nccl_places} or the system. Tests against NCCL are left out; "
    "scripts/setup --ci fetches it, or set RONDO_NCCL_ROOT.")
  return()
endif()
file(STRINGS "${RONDO_NCCL_INCLUDE}/nccl.h" rondo_nccl_version REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "#define NCCL_[A-Z]+ " "" rondo_nccl_version "${rondo_nccl_version}")
string(REPLACE ";" "." rondo_nccl_version "${rondo_nccl_version}")
# Older ones lack the 8-bit floats.
if(rondo_nccl_version VERSION_LESS 2.24)
  message(STATUS "No NCCL: ${RONDO_NCCL_INCLUDE}/nccl.h is of ${rondo_nccl_version}; the tests need 2.24 or newer and are left out")
  set(RONDO_NCCL_INCLUDE "")
  return()
endif()

cmake_path(GET RONDO_NCCL_INCLUDE PARENT_PATH rondo_nccl_root)
find_library(rondo_nccl NAMES nccl libnccl.so.2 HINTS "${rondo_nccl_root}" PATH_SUFFIXES lib64 lib NO_CACHE ${rondo_nccl_only})
if(rondo_nccl)
  add_library(rondo::nccl SHARED IMPORTED GLOBAL)
  set_target_properties(rondo::nccl PROPERTIES IMPORTED_LOCATION "${rondo_nccl}")
  target_include_directories(rondo::nccl SYSTEM INTERFACE "${RONDO_NCCL_INCLUDE}")
  message(STATUS "NCCL ${rondo_nccl_version}: ${rondo_nccl}")
else()
  message(STATUS "NCCL ${rondo_nccl_version}: ${RONDO_NCCL_INCLUDE}/nccl.h without its library: tests on GPUs against NCCL are left out")
endif()
