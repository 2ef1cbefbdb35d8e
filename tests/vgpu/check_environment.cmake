# Run with cmake -P: programs whose environment, or link line, is wrong say so in one line and go on.
#   PROGRAM           environment_program
#   CONFLICT          the same with another runtime before vgpu; may be empty
#   BOTH              both_libraries_program; may be empty
#   SAMPLE            a program that reduces, to be run with a wrong RONDO_ISA; may be empty
#   WORK_DIR          for files
cmake_minimum_required(VERSION 3.25)

# run(program variable=value): sets code, out and err.
macro(run program setting)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env ${setting} "${program}" RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err
    TIMEOUT 60)
endmacro()

function(expect_lines text wanted what)
  string(REPLACE ";" "," text "${text}")
  string(REGEX MATCHALL "[^\n]+" lines "${text}")
  list(LENGTH lines count)
  if(NOT count EQUAL wanted)
    message(SEND_ERROR "${what}: ${count} lines instead of ${wanted}:\n${text}")
  endif()
endfunction()

function(expect_text text wanted what)
  string(FIND "${text}" "${wanted}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "${what}: '${wanted}' is not in:\n${text}")
  endif()
endfunction()

# A machine that can't be made: an error of CUDA, one line with the reason, and the program goes on.
function(expect_no_machine setting)
  run("${PROGRAM}" "${setting}")
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${setting}: the program ended with ${code}\n${out}${err}")
  endif()
  expect_lines("${err}" 1 "${setting}")
  expect_text("${out}" "cudaErrorInitializationError -1\ncudaErrorInitializationError -1\n" "${setting}")
  expect_text("${out}" "text: there is no virtual machine: " "${setting}: cudaGetErrorString()")
  expect_text("${out}" "after reset: cudaSuccess 2, initialization error\n" "${setting}")
  foreach(reason IN LISTS ARGN)
    expect_text("${err}" "${reason}" "${setting}")
    expect_text("${out}" "${reason}" "${setting}: vgpu::last_error_detail()")
  endforeach()
endfunction()

run("${PROGRAM}" VGPU_TOPOLOGY=3)
expect_text("${out}" "cudaSuccess 3\n" "a good machine")
expect_lines("${err}" 0 "a good machine")

expect_no_machine(VGPU_TOPOLOGY=nonsense "nonsense" "preset")
expect_no_machine(VGPU_TOPOLOGY=0 "1 to 1024")
file(MAKE_DIRECTORY "${WORK_DIR}")
file(WRITE "${WORK_DIR}/nccl.xml" "<?xml version=\"1.0\"?>\n<system version=\"1\"></system>\n")
expect_no_machine("VGPU_TOPOLOGY=${WORK_DIR}/nccl.xml" "it is XML" "rondo-topo convert")
file(WRITE "${WORK_DIR}/broken.json" "{\"schema\": ")
expect_no_machine("VGPU_TOPOLOGY=${WORK_DIR}/broken.json" "broken.json")
expect_no_machine(VGPU_WORKERS=100000 "VGPU_WORKERS is 100000")
expect_no_machine(VGPU_WORKERS=many "VGPU_WORKERS is 'many'")
expect_no_machine(VGPU_HOSTILE=2 "VGPU_HOSTILE is '2'")

if(CONFLICT)
  run("${CONFLICT}" VGPU_TOPOLOGY=3)
  expect_lines("${err}" 1 "two runtimes")
  expect_text("${err}" "two CUDA runtimes" "two runtimes")
  expect_text("${err}" "other_runtime" "two runtimes: the library that takes the calls")
endif()
if(BOTH)
  run("${BOTH}" VGPU_TOPOLOGY=3)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "both libraries: the program ended with ${code}\n${out}${err}")
  endif()
  expect_text("${out}" "librondo.so and librondo_vgpu.so are both loaded" "both libraries")
endif()
if(SAMPLE)
  run("${SAMPLE}" RONDO_ISA=foo)
  expect_lines("${err}" 1 "RONDO_ISA=foo")
  expect_text("${err}" "RONDO_ISA is 'foo'" "RONDO_ISA=foo")
endif()
