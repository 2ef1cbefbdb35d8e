# What `cmake --install` installs: the shared libraries, the public headers, and what find_package(rondo) and pkg-config need.
# Programs say so themselves, where they are built.
include(CMakePackageConfigHelpers)

set(rondo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rondo")
set(rondo_package_templates "${CMAKE_CURRENT_LIST_DIR}/package")
set(rondo_cudart_folder "")
if(TARGET rondo_shared)
  cmake_path(GET rondo_cudart PARENT_PATH rondo_cudart_folder)
  cmake_path(GET rondo_cudart FILENAME rondo_cudart_file)
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file("${rondo_package_templates}/rondoConfig.cmake.in" "${PROJECT_BINARY_DIR}/package/rondoConfig.cmake"
  INSTALL_DESTINATION "${rondo_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/rondoConfig.cmake" "${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake"
  DESTINATION "${rondo_package_dir}")

# The way from the .pc file to the prefix, so that the installation can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
  OUTPUT_VARIABLE rondo_prefix_from_pkgconfig)
set(rondo_pkgconfig_cuda_flags "-I\"\${cuda_include}\"")
if(EXISTS "${RONDO_CUDA_INCLUDE}/cccl")
  string(APPEND rondo_pkgconfig_cuda_flags " -I\"\${cuda_include}/cccl\"")
endif()

# Debug information is most of what the build makes; users have no use for it, and who debugs Rondo has the build folder.
option(RONDO_INSTALL_DEBUG_INFO "Install libraries and programs with the debug information that they were built with" OFF)

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

# rondo_install_library(target component description libraries-of-pkg-config)
function(rondo_install_library target component description libraries)
  get_target_property(name ${target} OUTPUT_NAME)
  install(TARGETS ${target} EXPORT rondo_${component} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  rondo_strip_installed(${target} "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT rondo_${component} NAMESPACE rondo:: FILE rondo_${component}.cmake DESTINATION "${rondo_package_dir}")
  configure_file("${rondo_package_templates}/rondo.pc.in" "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

rondo_install_library(rondo_shared_vgpu vgpu "${PROJECT_DESCRIPTION}; on virtual GPUs" "")
if(TARGET rondo_shared)
  rondo_install_library(rondo_shared cuda "${PROJECT_DESCRIPTION}" "-L\"${rondo_cudart_folder}\" -l:${rondo_cudart_file}")
endif()
if(TARGET rondo-topo)
  rondo_strip_installed(rondo-topo "${CMAKE_INSTALL_BINDIR}")
endif()
rondo_strip_installed(vgpu-run "${CMAKE_INSTALL_BINDIR}")
foreach(library IN ITEMS rondo_vgpu_run rondo_shared_bodies)
  rondo_strip_installed(${library} "${CMAKE_INSTALL_LIBDIR}/vgpu")
endforeach()
