# The functions that the folders' CMakeLists.txt are made of.
#
# rondo_add_library(name SOURCES ... [LINKS ...])
#   One static, position-independent target per folder. cmake/RondoLayers.cmake checks that LINKS point downward.
#
# rondo_add_program(name SOURCES ... [LINKS ...] [RUNTIME vgpu|cuda|none])
#   A program. RUNTIME chooses what stands below the CUDA seam: vgpu (default), NVIDIA's libcudart, or nothing.
#
# rondo_add_test(name SOURCES ... [LINKS ...] [LABELS ...] [ENVIRONMENT ...] [TIMEOUT seconds] [RUNTIME vgpu|cuda|none]
#                [VARIANTS hostile seeds])
#   A GoogleTest program, one CTest entry per program. It counts as skipped when all its cases skip themselves.
#   RUNTIME cuda adds the label gpu; where NVIDIA's runtime is not there, the program is left out with a message.
#   VARIANTS registers the same program again: hostile as <name>.hostile with VGPU_HOSTILE=1 (label hostile), seeds as
#   <name>.seed1 ... with VGPU_SEED=1 ... RONDO_SEEDS (label seeds). The label `schedules` implies VARIANTS seeds.
#
# rondo_add_gpu_twin(test [TIMEOUT seconds])
#   The objects of a test that calls nothing of vgpu's own, linked once more, with device code on NVIDIA's runtime, as gpu_<test>
#   (label gpu). Skipped where there are not two GPUs. Does nothing without nvcc.
if(RONDO_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)  # here, so that every folder sees it

set(RONDO_SEEDS 10 CACHE STRING "How many random schedules the tests with VARIANTS seeds run")
set(RONDO_TEST_PREFIX "" CACHE STRING "Put before every test name, to tell build trees apart in one CTest run")

# Sanitizers make programs slower; their reports must be complete and must fail the test.
set(rondo_test_environment VGPU_CHECK=1)
set(rondo_test_labels "")
set(rondo_test_launcher ${CMAKE_CROSSCOMPILING_EMULATOR})
set(rondo_timeout_factor 1)
if(CMAKE_CROSSCOMPILING)
  set(rondo_timeout_factor 10)  # in an emulator
endif()
if(RONDO_SANITIZER STREQUAL "address")
  set(rondo_timeout_factor 4)
  set(rondo_test_labels asan)
  # hwloc's PCI plugin leaks what libpciaccess gave it, and is unloaded before the report, so no suppression can name it.
  list(APPEND rondo_test_environment HWLOC_PLUGINS_BLACKLIST=hwloc_pci.so)
  list(APPEND rondo_test_environment
    "ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=0" "UBSAN_OPTIONS=print_stacktrace=1")
elseif(RONDO_SANITIZER STREQUAL "thread")
  set(rondo_timeout_factor 10)
  set(rondo_test_labels tsan)
  list(APPEND rondo_test_environment "TSAN_OPTIONS=second_deadlock_stack=1")
  # The thread sanitizer of older compilers does not start where the kernel randomises addresses more than it expects.
  find_program(RONDO_SETARCH setarch)
  mark_as_advanced(RONDO_SETARCH)
  if(RONDO_SETARCH)
    execute_process(COMMAND "${RONDO_SETARCH}" -R true RESULT_VARIABLE rondo_setarch_result OUTPUT_QUIET ERROR_QUIET)
    if(rondo_setarch_result EQUAL 0)
      set(rondo_test_launcher "${RONDO_SETARCH}" -R)
    endif()
  endif()
endif()

if(RONDO_BUILD_TESTS AND NOT TARGET rondo_test_main)
  add_library(rondo_test_main STATIC "${CMAKE_CURRENT_LIST_DIR}/../tests/support/test_main.cpp")
  target_link_libraries(rondo_test_main PRIVATE rondo_flags PUBLIC GTest::gtest)
endif()

function(rondo_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINKS")
  rondo_reject_unparsed(rondo_add_library ${name} "${ARG_UNPARSED_ARGUMENTS}")
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE rondo_flags PUBLIC ${ARG_LINKS})
endfunction()

function(rondo_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "RUNTIME" "SOURCES;LINKS")
  rondo_reject_unparsed(rondo_add_program ${name} "${ARG_UNPARSED_ARGUMENTS}")
  if(NOT ARG_RUNTIME)
    set(ARG_RUNTIME vgpu)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE rondo_flags ${ARG_LINKS} Threads::Threads)
  if(ARG_RUNTIME STREQUAL "vgpu")
    target_link_libraries(${name} PRIVATE rondo_cuda rondo_vgpu)  # in this order: the first calls the second
  elseif(ARG_RUNTIME STREQUAL "cuda")
    target_link_libraries(${name} PRIVATE rondo::cudart)
  elseif(NOT ARG_RUNTIME STREQUAL "none")
    message(FATAL_ERROR "${name}: RUNTIME is '${ARG_RUNTIME}'; it must be vgpu, cuda or none")
  endif()
endfunction()

function(rondo_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT;RUNTIME" "SOURCES;LINKS;LABELS;ENVIRONMENT;VARIANTS")
  rondo_reject_unparsed(rondo_add_test ${name} "${ARG_UNPARSED_ARGUMENTS}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${rondo_timeout_factor}")
  if(ARG_RUNTIME STREQUAL "cuda")
    list(APPEND ARG_LABELS gpu)
    if(NOT TARGET rondo::cudart)
      message(STATUS "Left out: test ${name} needs NVIDIA's CUDA runtime")
      return()
    endif()
  endif()
  rondo_add_program(${name} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS} rondo_test_main GTest::gmock RUNTIME "${ARG_RUNTIME}")

  rondo_register_test("${name}" ${name})
  if("schedules" IN_LIST ARG_LABELS)
    list(APPEND ARG_VARIANTS seeds)
    list(REMOVE_DUPLICATES ARG_VARIANTS)
  endif()
  foreach(variant IN LISTS ARG_VARIANTS)
    if(variant STREQUAL "hostile")
      rondo_register_test("${name}.hostile" ${name} LABELS hostile ENVIRONMENT VGPU_HOSTILE=1)
    elseif(variant STREQUAL "seeds")
      foreach(seed RANGE 1 ${RONDO_SEEDS})
        rondo_register_test("${name}.seed${seed}" ${name} LABELS seeds ENVIRONMENT VGPU_SEED=${seed})
      endforeach()
    else()
      message(FATAL_ERROR "${name}: unknown variant '${variant}'; known are hostile and seeds")
    endif()
  endforeach()
endfunction()

function(rondo_add_gpu_twin test)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "")
  rondo_reject_unparsed(rondo_add_gpu_twin ${test} "${ARG_UNPARSED_ARGUMENTS}")
  if(NOT RONDO_HAVE_NVCC)
    return()
  endif()
  get_target_property(links ${test} LINK_LIBRARIES)
  list(REMOVE_ITEM links rondo_flags rondo_vgpu rondo_test_main GTest::gmock Threads::Threads)
  list(TRANSFORM links REPLACE "^(rondo_communicator|rondo_kernels)$" "\\1_device")
  rondo_add_test(gpu_${test} SOURCES "$<TARGET_OBJECTS:${test}>" "${PROJECT_SOURCE_DIR}/tests/support/gpu_environment.cpp"
    LINKS ${links} RUNTIME cuda TIMEOUT "${ARG_TIMEOUT}")
endfunction()

# One CTest entry for `target`, with what rondo_add_test was told (ARG_*) and what the variant adds.
function(rondo_register_test test target)
  cmake_parse_arguments(PARSE_ARGV 2 VARIANT "" "" "LABELS;ENVIRONMENT")
  set(labels ${ARG_LABELS} ${VARIANT_LABELS} ${rondo_test_labels})
  set(environment ${rondo_test_environment} ${ARG_ENVIRONMENT} ${VARIANT_ENVIRONMENT})
  add_test(NAME "${RONDO_TEST_PREFIX}${test}" COMMAND ${rondo_test_launcher} $<TARGET_FILE:${target}>)
  set_tests_properties("${RONDO_TEST_PREFIX}${test}" PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}" SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
endfunction()

function(rondo_reject_unparsed function name arguments)
  if(arguments)
    message(FATAL_ERROR "${function}(${name}): these arguments were not understood: ${arguments}")
  endif()
endfunction()
