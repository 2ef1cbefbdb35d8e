# What vgpu-run says when something is wrong, and that it teaches how to go on.

# expect(code text arguments...): vgpu-run with these arguments ends with `code` and says `text` (a regular expression).
function(expect code text)
  execute_process(COMMAND "${VGPU_RUN}" ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  string(APPEND output "${errors}")
  if(NOT result EQUAL code OR NOT output MATCHES "${text}")
    message(SEND_ERROR "vgpu-run ${ARGN}\nended with ${result} instead of ${code}, or did not say '${text}':\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

expect(0 "Examples:" --help)
expect(2 "a program is missing")
expect(2 "unknown option --topologie" --topologie 8 true)
expect(2 "--engine" --engine fast true)
expect(1 "no_such_machine" --topology no_such_machine true)
expect(1 "VGPU_ARCHITECTURE is 'sm_x'" --architecture sm_x true)
expect(127 "there is no program ./no_such_program" ./no_such_program)
expect(0 "" true)
expect(3 "" sh -c "exit 3")
expect(0 "VGPU_SEED=7" --seed 7 env)

expect(0 "calls cuMulticastGetGranularity, which vgpu does not have" "${PROGRAM}")
string(REGEX MATCHALL "cuMulticastGetGranularity" mentions "${output}")
list(LENGTH mentions count)
if(NOT count EQUAL 1 OR NOT output MATCHES "refuses: textures are not simulated")
  message(SEND_ERROR "A missing function is not named once, or a refused one without its reason:\n${output}")
endif()

if(STATIC_PROGRAM)
  expect(126 "has NVIDIA's CUDA runtime inside.*nvcc -cudart shared" "${STATIC_PROGRAM}")
endif()
