# The order of the layers, in one place, and the check that no target links upward. tests/layers holds #include to it too.

# Bottom up. Each line: layer | its folders or files | what its targets are called.
set(RONDO_LAYERS
  "base|src/base,include/rondo/error.hpp,include/rondo/export.hpp|rondo_base"
  "graph|topology/graph,topology/presets,include/rondo/types.hpp|rondo_graph(_[a-z0-9_]+)?"
  "ptx|src/vgpu/ptx|rondo_vgpu_ptx(_[a-z0-9_]+)?"
  "vgpu|src/vgpu,include/vgpu|rondo_vgpu(_[a-z0-9_]+)?"
  "cuda|src/cuda,include/rondo/cuda_error.hpp|rondo_cuda"
  "kernels|kernels|rondo_kernels(_[a-z0-9_]+)?"
  "schedule|src/schedule,include/rondo/schedule.hpp|rondo_schedule"
  "topology|topology|rondo_topology(_[a-z0-9_]+)?"
  "strategy|src/strategy,include/rondo/strategy.hpp,include/rondo/tuning.hpp|rondo_strategy"
  "communicator|src/communicator,include/rondo|rondo_communicator(_device)?"
  "tool|topology/tool|rondo_tool"
  "training|src/training,include/rondo/training|rondo_training(_[a-z0-9_]+)?"
  "library|src/library,include/rondo/version.hpp|rondo_shared(_[a-z]+)?"
  "bench|bench|rondo_bench_[a-z0-9_]+")

# Height of the layer that `target` belongs to, or -1.
function(rondo_layer_of_target target result)
  set(height 0)
  foreach(layer IN LISTS RONDO_LAYERS)
    string(REGEX REPLACE "^.*\\|" "" pattern "${layer}")
    if(target MATCHES "^${pattern}$")
      set(${result} ${height} PARENT_SCOPE)
      return()
    endif()
    math(EXPR height "${height} + 1")
  endforeach()
  set(${result} -1 PARENT_SCOPE)
endfunction()

# All libraries that are defined in `directory` and below.
function(rondo_libraries_below directory result)
  set(found "")
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY$")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(children DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(child IN LISTS children)
    rondo_libraries_below("${child}" below)
    list(APPEND found ${below})
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

function(rondo_check_links target)
  rondo_layer_of_target(${target} own_height)
  if(own_height EQUAL -1)
    message(FATAL_ERROR "Library ${target} belongs to no layer. Name it after its layer, or add it to cmake/RondoLayers.cmake.")
  endif()
  get_target_property(links ${target} LINK_LIBRARIES)
  get_target_property(interface_links ${target} INTERFACE_LINK_LIBRARIES)
  string(REGEX MATCHALL "rondo_[a-z0-9_]+" names "${links} ${interface_links}")  # also inside generator expressions
  foreach(name IN LISTS names)
    rondo_layer_of_target(${name} height)
    if(height GREATER own_height)
      message(FATAL_ERROR "${target} links to ${name}, which lies above it. cmake/RondoLayers.cmake has the order.")
    endif()
  endforeach()
endfunction()

# Call it when all folders are added. Programs, tests and samples may link to anything.
function(rondo_check_layers)
  rondo_libraries_below("${PROJECT_SOURCE_DIR}" libraries)
  foreach(library IN LISTS libraries)
    get_target_property(directory ${library} SOURCE_DIR)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${directory}")
    if(folder MATCHES "^(src|topology|kernels)(/|$)")
      rondo_check_links(${library})
    endif()
  endforeach()
endfunction()
