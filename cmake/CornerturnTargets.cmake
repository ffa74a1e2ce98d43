# One function for each kind of target. A folder's CMakeLists.txt is then a list of its files.

# cornerturn_keep_apart(file...)
# What Highway compiles once for every instruction set, and device code, cannot be put together with
# other files.
function(cornerturn_keep_apart)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    set(targets "")
    if(EXISTS ${path} AND file MATCHES "[.]cpp$")
      file(STRINGS ${path} targets REGEX "^#include <hwy/foreach_target.h>")
    endif()
    if(targets OR file MATCHES "[.]cu$")
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# cornerturn_members(ARCHIVE OUTPUT_VARIABLE)
# The objects in a static library of the system, as files that another library can have as sources;
# nothing where the system has no such archive.
function(cornerturn_members archive variable)
  find_library(path_of_${archive} ${archive})
  mark_as_advanced(path_of_${archive})
  set(${variable} "" PARENT_SCOPE)
  if(NOT path_of_${archive})
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/members_of_${archive})
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${CMAKE_AR} x ${path_of_${archive}} WORKING_DIRECTORY ${folder}
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB members ${folder}/*.o)
  set_source_files_properties(${members} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${variable} ${members} PARENT_SCOPE)
endfunction()

# cornerturn_leave_as_written(TARGET)
# Sanitizers make clang optimise for most of a build's time. Tests, programs and what they alone need
# are not optimised then, but for the emulator, which counts every access.
function(cornerturn_leave_as_written target)
  if(CORNERTURN_SANITIZE AND NOT target STREQUAL cornerturn_emulator)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# cornerturn_build_fast(TARGET)
# For what nobody waits for: -O1 takes two thirds of the time that -O2 takes to compile.
function(cornerturn_build_fast target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  cornerturn_leave_as_written(${target})
endfunction()

# cornerturn_find_a_way_through(TARGET)
# The fuzz targets learn which ways through the code they have taken. Not through the CPU's vectors,
# whose ways the plans decide, nor through the emulator.
function(cornerturn_find_a_way_through target)
  if(CORNERTURN_BUILD_FUZZ AND NOT target MATCHES "_(cpu|simt)$")
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# cornerturn_layer(NAME [STATIC] [SOURCES file...] [LINKS target...])
# The layer `cornerturn_NAME`: compiled once as objects, from which the shared library and the
# internal static library are both made; or STATIC, a library beside them. A layer of headers alone
# has no SOURCES.
function(cornerturn_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "" "SOURCES;LINKS")
  set(target cornerturn_${name})
  set(kind OBJECT)
  if(arg_STATIC)
    set(kind STATIC)
  endif()
  if(arg_SOURCES)
    add_library(${target} ${kind} ${arg_SOURCES})
    cornerturn_keep_apart(${arg_SOURCES})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE CORNERTURN_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${target} PRIVATE cornerturn_options PUBLIC ${arg_LINKS})
    cornerturn_find_a_way_through(${target})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${arg_LINKS})
  endif()
endfunction()

# cornerturn_build_faster(TARGET)
# For what runs once a command: g++ takes two thirds of the time of -O1 where it inlines little. What
# the emulator runs would take half as long again.
function(cornerturn_build_faster target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Og>
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,Clang>>:-O1>)
  cornerturn_leave_as_written(${target})
endfunction()

# cornerturn_program(NAME [SOURCES file...] [LINKS target...])
function(cornerturn_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name} ${arg_SOURCES})
  cornerturn_build_faster(${name})
  target_compile_definitions(${name} PRIVATE CORNERTURN_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE cornerturn_options ${arg_LINKS})
endfunction()

# cornerturn_test(NAME SOURCES file... [LINKS target...] [PUBLIC_ONLY] [PARTS n] [TIMEOUT seconds]
#                 [IN_MEMORY] [PROCESSORS description... [LONG case]])
# One GoogleTest binary `test_NAME`, one ctest entry, one report reports/gtest/test_NAME.xml; with
# PARTS n entries that share the cases: test_NAME_1 ... With PROCESSORS one more entry for each of
# them, such as "amd-zen4,threads=2,l2=1M": the values of CORNERTURN_CPU and CORNERTURN_THREADS. The case LONG runs on this processor alone.
# With IN_MEMORY one more entry, whose files are in memory: test_NAME_in_memory.
# Tests see the internals (`src/` headers) unless PUBLIC_ONLY, which links the shared library as a
# user would.
function(cornerturn_test name)
  if(NOT CORNERTURN_BUILD_TESTS)  # fuzz targets alone
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "PUBLIC_ONLY;IN_MEMORY" "PARTS;TIMEOUT;LONG"
    "SOURCES;LINKS;PROCESSORS")
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  cornerturn_build_fast(${target})
  if(arg_PUBLIC_ONLY)
    target_link_libraries(${target} PRIVATE cornerturn)
  else()
    target_link_libraries(${target} PRIVATE cornerturn_internal)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE
    CORNERTURN_VERSION="${PROJECT_VERSION}" CORNERTURN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE cornerturn_options ${arg_LINKS} GTest::gtest_main)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_PARTS)
    set(arg_PARTS 1)
  endif()
  foreach(part RANGE 1 ${arg_PARTS})
    set(entry ${target})
    set(environment "")
    if(arg_PARTS GREATER 1)
      set(entry ${target}_${part})
      math(EXPR index "${part} - 1")
      set(environment GTEST_TOTAL_SHARDS=${arg_PARTS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${entry} COMMAND ${target}
      --gtest_output=xml:${PROJECT_BINARY_DIR}/reports/gtest/${entry}.xml --gtest_brief=1)
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${environment}")
  endforeach()
  # Once with files in memory, which have no disk below them, where the system has a place for them.
  if(arg_IN_MEMORY AND EXISTS /dev/shm AND NOT CORNERTURN_SANITIZE)
    add_test(NAME ${target}_in_memory COMMAND ${target}
      --gtest_output=xml:${PROJECT_BINARY_DIR}/reports/gtest/${target}_in_memory.xml --gtest_brief=1)
    set_tests_properties(${target}_in_memory PROPERTIES TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "TMPDIR=/dev/shm;TEST_TMPDIR=/dev/shm")
  endif()
  # Once for each processor that is described in the place of the one that is here.
  foreach(description IN LISTS arg_PROCESSORS)
    string(REGEX MATCH "^([^,]*),threads=([0-9]+),(.*)$" found "${description}")
    set(entry ${target}_on_${CMAKE_MATCH_1})
    add_test(NAME ${entry} COMMAND ${target} --gtest_filter=-${arg_LONG}
      --gtest_output=xml:${PROJECT_BINARY_DIR}/reports/gtest/${entry}.xml --gtest_brief=1)
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT
      "CORNERTURN_CPU=${CMAKE_MATCH_1},${CMAKE_MATCH_3};CORNERTURN_THREADS=${CMAKE_MATCH_2}")
  endforeach()
endfunction()

# cornerturn_fuzz(NAME SOURCES file... [LINKS target...])
# One libFuzzer binary `fuzz_NAME`, built with CORNERTURN_BUILD_FUZZ=ON and clang.
function(cornerturn_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  if(NOT CORNERTURN_BUILD_FUZZ)
    return()
  endif()
  cornerturn_program(fuzz_${name} SOURCES ${arg_SOURCES} LINKS cornerturn_internal ${arg_LINKS})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
