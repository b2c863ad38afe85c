# A build for GPUs that takes the rooms as the host's build has compiled them: their sources know nothing of CUDA, so they need
# compiling once. What names a build folder promises that its libraries are up to date.
set(ROTA_HOST_BUILD "" CACHE PATH "Build folder of the preset host whose libraries to use; empty: compile the rooms here")

# rota_built_room(NAME DEPS...): library rota_NAME out of that folder, without its tests, which that build has.
function(rota_built_room name)
  add_library(rota_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(rota_${name} PROPERTIES IMPORTED_LOCATION ${ROTA_HOST_BUILD}/librota_${name}.a)
  target_include_directories(rota_${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(rota_${name} INTERFACE Threads::Threads)
  rota_depend(rota_${name} INTERFACE ${ARGN})
endfunction()
