# What makes tests cheap to compile: they are half of a build, and run once. Libraries and programs get none of it, nor a precompiled
# header of their own: a header of theirs that lacks an include would go unseen.

# rota_cheap_test(TARGET MAIN): MAIN is the object library of the tests' main; given as TARGET too, it makes their precompiled header.
function(rota_cheap_test target main)
  # Code of the tests alone; what they test is as optimised as ever. Asserts become calls, not a block with a try each.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O1>")
  target_compile_definitions(${target} PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()  # a cache of compilations keeps nothing of what a precompiled header was used for
  endif()
  if(NOT target STREQUAL main)
    target_precompile_headers(${target} REUSE_FROM ${main})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <doctest/doctest.h> <algorithm> <array> <atomic> <cmath> <cstring> <filesystem> <fstream> <functional> <map> <memory>
    <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility> <vector>)
endfunction()
