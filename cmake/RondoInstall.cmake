# What `cmake --install` installs: the shared libraries, the public headers, the programs, and what find_package(rondo) and
# pkg-config need. Folders that belong to the build machine are never written into any of it.
#
# rondo_install_program(target)   called where the program is made
# rondo_install_package()         all the rest; called when all folders are added
include(CMakePackageConfigHelpers)
set(rondo_package_templates "${CMAKE_CURRENT_LIST_DIR}/package")

# Debug information is most of what the build makes; users have no use for it, and who debugs Rondo has the build folder.
option(RONDO_INSTALL_DEBUG_INFO "Install libraries and programs with the debug information that they were built with" OFF)

# Where other machines may have CUDA too, if this one has it there: the folder itself when it belongs to the system, or nothing.
function(rondo_public_folder folder result)
  set(${result} "" PARENT_SCOPE)
  if(folder MATCHES "^/(usr|opt)/")
    set(${result} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

set(rondo_public_cudart_folder "")
if(TARGET rondo::cudart)
  cmake_path(GET rondo_cudart PARENT_PATH rondo_cudart_folder)
  rondo_public_folder("${rondo_cudart_folder}" rondo_public_cudart_folder)
endif()
rondo_public_folder("${RONDO_CUDA_INCLUDE}" rondo_public_cuda_include)

# rondo_strip_installed(target folder): strips what was installed of `target` into `folder` below the prefix.
function(rondo_strip_installed target folder)
  if(RONDO_INSTALL_DEBUG_INFO OR NOT CMAKE_STRIP)
    return()
  endif()
  install(CODE "
    set(folder \"${folder}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\$ENV{DESTDIR}\${folder}/$<TARGET_FILE_NAME:${target}>\")")
endfunction()

# Installed files look for CUDA's runtime where the system has it, not where the build found it.
function(rondo_set_install_rpath target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rondo_public_cudart_folder}")
endfunction()

function(rondo_install_program target)
  if(RONDO_INSTALL)
    rondo_set_install_rpath(${target})
    install(TARGETS ${target})
    rondo_strip_installed(${target} "${CMAKE_INSTALL_BINDIR}")
  endif()
endfunction()

# rondo_install_library(target component description), with rondo_pkgconfig_* set
function(rondo_install_library target component description)
  get_target_property(name ${target} OUTPUT_NAME)
  rondo_set_install_rpath(${target})
  install(TARGETS ${target} EXPORT rondo_${component} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  rondo_strip_installed(${target} "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT rondo_${component} NAMESPACE rondo:: FILE rondo_${component}.cmake DESTINATION "${rondo_package_dir}")
  configure_file("${rondo_package_templates}/rondo.pc.in" "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

function(rondo_install_package)
  if(NOT RONDO_INSTALL)
    return()
  endif()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")

  set(rondo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rondo")
  configure_package_config_file("${rondo_package_templates}/rondoConfig.cmake.in" "${PROJECT_BINARY_DIR}/package/rondoConfig.cmake"
    INSTALL_DESTINATION "${rondo_package_dir}" NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/package/rondoConfig.cmake" "${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake"
    DESTINATION "${rondo_package_dir}")

  # The way from the .pc file to the prefix, so that the installation can be moved.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
    OUTPUT_VARIABLE rondo_prefix_from_pkgconfig)
  set(rondo_pkgconfig_cuda_include "${rondo_public_cuda_include}")
  if(NOT rondo_pkgconfig_cuda_include)
    set(rondo_pkgconfig_cuda_include /usr/local/cuda/include)  # where NVIDIA's installer puts it
  endif()
  set(rondo_pkgconfig_cuda_flags "-I\"\${cuda_include}\"")
  if(EXISTS "${RONDO_CUDA_INCLUDE}/cccl")
    string(APPEND rondo_pkgconfig_cuda_flags " -I\"\${cuda_include}/cccl\"")
  endif()
  set(rondo_pkgconfig_libraries "")
  set(rondo_pkgconfig_cuda_libraries "")
  rondo_install_library(rondo_shared_vgpu vgpu "${PROJECT_DESCRIPTION}; on virtual GPUs")
  if(TARGET rondo_shared)
    set(rondo_pkgconfig_cuda_libraries "${rondo_public_cudart_folder}")
    if(NOT rondo_pkgconfig_cuda_libraries)
      set(rondo_pkgconfig_cuda_libraries /usr/local/cuda/lib64)
    endif()
    cmake_path(GET rondo_cudart FILENAME rondo_cudart_file)
    set(rondo_pkgconfig_libraries "-L\"\${cuda_libraries}\" -l:${rondo_cudart_file}")
    rondo_install_library(rondo_shared cuda "${PROJECT_DESCRIPTION}")
  endif()
endfunction()
