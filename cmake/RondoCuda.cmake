# Finds NVIDIA's headers (always needed) and, when it can, a CUDA compiler.
#   rondo::cuda_headers   headers only: enough to compile everything with a plain C++ compiler
#   RONDO_CUDA_INCLUDE    where the headers are; may be given
#   RONDO_HAVE_NVCC       true when device code can be compiled; then rondo::cudart is NVIDIA's runtime
# Looks in RONDO_CUDA_ROOT, then where scripts/setup found or put CUDA, CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda.
set(RONDO_USE_NVCC AUTO CACHE STRING
  "Compile device code with nvcc: AUTO (when one is found), ON (it is an error if there is none) or OFF")
set_property(CACHE RONDO_USE_NVCC PROPERTY STRINGS AUTO ON OFF)
set(RONDO_CUDA_ROOT "" CACHE PATH "A CUDA toolkit, or a folder of CUDA wheels; empty: search")
set(RONDO_CUDA_ARCHITECTURES quick CACHE STRING
  "'quick' (one virtual architecture), 'all' (every GPU that Rondo is made for), or a list as for CMAKE_CUDA_ARCHITECTURES")

# scripts/setup leaves a note beside the build trees; it names its CUDA in RONDO_SETUP_CUDA_ROOT. Trees elsewhere take the note in build/.
include("${PROJECT_BINARY_DIR}/../rondo-setup.cmake" OPTIONAL RESULT_VARIABLE rondo_setup_note)
if(NOT rondo_setup_note)
  include("${PROJECT_SOURCE_DIR}/build/rondo-setup.cmake" OPTIONAL)
endif()

# An explicit root is the only place to look. Otherwise what is near comes first, then the usual places.
if(RONDO_CUDA_ROOT)
  set(rondo_cuda_places "${RONDO_CUDA_ROOT}")
else()
  set(rondo_cuda_places "${RONDO_SETUP_CUDA_ROOT}" "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda /opt/cuda)
  list(REMOVE_ITEM rondo_cuda_places "")
endif()

# ---- headers -----------------------------------------------------------------------------------------------------------
find_path(RONDO_CUDA_INCLUDE cuda_runtime_api.h HINTS ${rondo_cuda_places} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
if(NOT RONDO_CUDA_ROOT)
  find_path(RONDO_CUDA_INCLUDE cuda_runtime_api.h NO_CACHE)
endif()
if(NOT RONDO_CUDA_INCLUDE)
  message(FATAL_ERROR "cuda_runtime_api.h was not found in ${rondo_cuda_places}. "
    "Run scripts/setup, which fetches NVIDIA's headers, or set RONDO_CUDA_ROOT to a CUDA toolkit.")
endif()
add_library(rondo_cuda_headers INTERFACE)
add_library(rondo::cuda_headers ALIAS rondo_cuda_headers)
target_include_directories(rondo_cuda_headers SYSTEM INTERFACE "${RONDO_CUDA_INCLUDE}")
if(EXISTS "${RONDO_CUDA_INCLUDE}/cccl/cuda/atomic")
  target_include_directories(rondo_cuda_headers SYSTEM INTERFACE "${RONDO_CUDA_INCLUDE}/cccl")
elseif(NOT EXISTS "${RONDO_CUDA_INCLUDE}/cuda/atomic")
  message(FATAL_ERROR "libcu++ (cuda/atomic) is not beside ${RONDO_CUDA_INCLUDE}/cuda_runtime_api.h. Install CCCL or run scripts/setup.")
endif()

# ---- compiler ----------------------------------------------------------------------------------------------------------
set(RONDO_HAVE_NVCC OFF)
set(rondo_nvcc_problem "RONDO_USE_NVCC is OFF")
if(RONDO_USE_NVCC)
  if(CMAKE_CUDA_COMPILER)
    set(rondo_nvcc "${CMAKE_CUDA_COMPILER}")
  elseif(DEFINED ENV{CUDACXX})
    set(rondo_nvcc "$ENV{CUDACXX}")
  else()
    find_program(rondo_nvcc nvcc HINTS ${rondo_cuda_places} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
    if(NOT RONDO_CUDA_ROOT)
      find_program(rondo_nvcc nvcc NO_CACHE)
    endif()
  endif()
  set(rondo_nvcc_problem "nvcc was not found")
  if(rondo_nvcc)
    execute_process(COMMAND "${rondo_nvcc}" --version OUTPUT_VARIABLE rondo_nvcc_text ERROR_QUIET RESULT_VARIABLE rondo_nvcc_result)
    if(rondo_nvcc_result EQUAL 0 AND rondo_nvcc_text MATCHES "release ([0-9]+\\.[0-9]+)")
      set(rondo_nvcc_version "${CMAKE_MATCH_1}")
      set(rondo_nvcc_problem "")
      if(rondo_nvcc_version VERSION_LESS 12.0)
        set(rondo_nvcc_problem "${rondo_nvcc} is of CUDA ${rondo_nvcc_version}; CUDA 12.0 or newer is needed for C++20")
      endif()
    else()
      set(rondo_nvcc_problem "${rondo_nvcc} does not run")
    endif()
  endif()
  if(rondo_nvcc_problem STREQUAL "")
    set(RONDO_HAVE_NVCC ON)
  elseif(NOT RONDO_USE_NVCC STREQUAL "AUTO")
    message(FATAL_ERROR "RONDO_USE_NVCC is ${RONDO_USE_NVCC}, but ${rondo_nvcc_problem}. Run scripts/setup or set RONDO_CUDA_ROOT.")
  endif()
endif()
if(NOT RONDO_HAVE_NVCC)
  message(STATUS "No device code: ${rondo_nvcc_problem}. NVIDIA's headers: ${RONDO_CUDA_INCLUDE}")
  return()
endif()

# ---- language ----------------------------------------------------------------------------------------------------------
# 'all' is every GPU from Turing on; CUDA 12 still knows Pascal and Volta (the DGX-1), and Blackwell from 12.8.
function(rondo_choose_architectures result)
  set(architectures 75 80 86 89 90)
  if(rondo_nvcc_version VERSION_LESS 13)
    list(PREPEND architectures 60 70)
  endif()
  if(rondo_nvcc_version VERSION_GREATER_EQUAL 12.8)
    list(APPEND architectures 100 120)
  endif()
  if(RONDO_CUDA_ARCHITECTURES STREQUAL "all")
    list(POP_BACK architectures newest)
    list(TRANSFORM architectures APPEND "-real")
    set(${result} "${architectures};${newest}" PARENT_SCOPE)  # with PTX of the newest, for GPUs to come
  elseif(RONDO_CUDA_ARCHITECTURES STREQUAL "quick")
    list(GET architectures 0 oldest)
    set(${result} "${oldest}-virtual" PARENT_SCOPE)
  else()
    set(${result} "${RONDO_CUDA_ARCHITECTURES}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  rondo_choose_architectures(CMAKE_CUDA_ARCHITECTURES)
endif()
set(CMAKE_CUDA_COMPILER "${rondo_nvcc}")
if(NOT CMAKE_CUDA_HOST_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
endif()
# What stands below the CUDA seam is chosen per program (rondo::cudart or vgpu), so nvcc must not add its own runtime.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know yet that nvcc can do it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# Not by find_package(CUDAToolkit): in CMake 3.25 it stumbles over the wheels, which hold only what is needed here.
cmake_path(GET rondo_nvcc PARENT_PATH rondo_nvcc_root)
cmake_path(GET rondo_nvcc_root PARENT_PATH rondo_nvcc_root)
find_library(rondo_cudart NAMES cudart libcudart.so.13 libcudart.so.12
  HINTS "${rondo_nvcc_root}/lib64" "${rondo_nvcc_root}/lib" ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} NO_CACHE REQUIRED)
add_library(rondo::cudart SHARED IMPORTED GLOBAL)
set_target_properties(rondo::cudart PROPERTIES IMPORTED_LOCATION "${rondo_cudart}")
target_link_libraries(rondo::cudart INTERFACE rondo_cuda_headers)
message(STATUS "Device code: CUDA ${rondo_nvcc_version}, ${rondo_nvcc}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
