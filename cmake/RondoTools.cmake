# Optional developer targets: format, format-check (clang-format), tidy (clang-tidy) and reference (Doxygen). Missing tools
# cost only their target.

# Formatting differs between versions of clang-format; this one is the reference (Debian 12's).
set(RONDO_CLANG_FORMAT_VERSION 14)
find_program(RONDO_CLANG_FORMAT NAMES clang-format-${RONDO_CLANG_FORMAT_VERSION} clang-format)
find_program(RONDO_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)
mark_as_advanced(RONDO_CLANG_FORMAT RONDO_RUN_CLANG_TIDY)

if(RONDO_CLANG_FORMAT)
  foreach(mode IN ITEMS check fix)
    string(REPLACE "check" "format-check" target "${mode}")
    string(REPLACE "fix" "format" target "${target}")
    add_custom_target(${target}
      COMMAND "${CMAKE_COMMAND}" -D "MODE=${mode}" -D "CLANG_FORMAT=${RONDO_CLANG_FORMAT}"
              -D "VERSION=${RONDO_CLANG_FORMAT_VERSION}" -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}"
              -P "${CMAKE_CURRENT_LIST_DIR}/format.cmake"
      COMMENT "clang-format, mode ${mode}" VERBATIM)
  endforeach()
endif()

if(RONDO_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND "${RONDO_RUN_CLANG_TIDY}" -quiet -p "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/(src|topology|kernels|samples)/.*\\.cpp$"
    COMMENT "clang-tidy with .clang-tidy" VERBATIM)
endif()

# The API reference, from the public headers; the test api_reference makes it too.
add_custom_target(reference
  COMMAND "${PROJECT_SOURCE_DIR}/tests/scripts/check_reference" "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/reference"
  COMMENT "Doxygen, from include/" VERBATIM)
