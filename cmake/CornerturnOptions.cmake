# How every target of this project is compiled.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)  # OFF is for the static library alone
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  # Files are compiled some at a time, because their headers cost more than they do. The debug preset
  # compiles each by itself.
  if(NOT DEFINED CMAKE_UNITY_BUILD AND CMAKE_BUILD_TYPE STREQUAL Release)
    set(CMAKE_UNITY_BUILD ON)
  endif()
  if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
  endif()
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

# -O3 unrolls what the kernels have already unrolled by hand: it costs build time and gives nothing.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

# What all targets share. Internal only: nothing of it reaches an installed target.
add_library(cornerturn_options INTERFACE)
target_compile_options(cornerturn_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-unknown-pragmas>")
if(CMAKE_UNITY_BUILD)  # the names of other files are in sight
  target_compile_options(cornerturn_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-shadow;-Wshadow=local>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
endif()
# A product and a sum are rounded each by itself, on every processor alike (values/epilogue.hpp).
target_compile_options(cornerturn_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
# A loop that clang could not unroll, with sanitizers for instance, is slower but right.
target_compile_options(cornerturn_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>)
if(CORNERTURN_WERROR)
  target_compile_options(cornerturn_options INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Werror> "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(CORNERTURN_SANITIZE)
  # AddressSanitizer sees null pointers and what lies beyond an object by itself.
  target_compile_options(cornerturn_options INTERFACE
    -fsanitize=${CORNERTURN_SANITIZE} -fno-sanitize=null,vptr,object-size -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(cornerturn_options INTERFACE -fsanitize=${CORNERTURN_SANITIZE})
  # For the few places where the code, or the number of cases, differs.
  if(CORNERTURN_SANITIZE MATCHES address)
    target_compile_definitions(cornerturn_options INTERFACE CORNERTURN_ASAN)
    # In functions with many accesses each check is a call: kernels for vectors compile in a third of
    # the time then.
    target_compile_options(cornerturn_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-mllvm
      -asan-instrumentation-with-call-threshold=300>)
  elseif(CORNERTURN_SANITIZE MATCHES thread)
    target_compile_definitions(cornerturn_options INTERFACE CORNERTURN_TSAN)
  endif()
endif()

# Highway's instruction sets: the scalar baseline, SSE4, AVX2 and AVX-512 with VBMI on x86; NEON on
# Arm. Left out: SSSE3, which only processors without SSE4 (before 2008) would use; AVX-512 without
# VBMI, because moves gain next to nothing from vectors wider than those of AVX2; and SVE, whose
# vectors have no size at compile time. Nor Highway's stand-in for vectors, as the baseline: a double
# beyond the floats it makes the largest float, not infinity.
set(disabled HWY_SSSE3 HWY_AVX3 HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
if(CORNERTURN_SANITIZE)
  # One of vectors and the scalar one have all forms of the loops between them.
  set(features "")
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo features REGEX "avx512_bitalg" LIMIT_COUNT 1)
  endif()
  if(features)
    list(APPEND disabled HWY_SSE4 HWY_AVX2)
  else()
    list(APPEND disabled HWY_SSE4 HWY_AVX3_DL)
  endif()
endif()
list(JOIN disabled "|" disabled)
add_library(cornerturn_hwy INTERFACE)
target_compile_definitions(cornerturn_hwy INTERFACE
  HWY_WANT_AVX3_DL HWY_BROKEN_EMU128=1 "HWY_DISABLED_TARGETS=(${disabled})")
