# Device code: nvcc, and the architectures it compiles for. One architecture (90a-real, or native for
# the GPU that is here) builds six times as fast. Every GPU from sm_80 on runs the code of its own
# generation; 100 is also there as PTX, from which a driver makes code for those that follow.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100 120-real
    CACHE STRING "GPU architectures, as CMake's CUDA_ARCHITECTURES" FORCE)
endif()
include(CheckLanguage)
find_program(CORNERTURN_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
if(CORNERTURN_NVCC AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CORNERTURN_NVCC})
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "CORNERTURN_CUDA = ON, but no nvcc is here: install the CUDA toolkit, or set "
    "CMAKE_CUDA_COMPILER")
endif()
enable_language(CUDA)
# CMake 3.25 does not know that nvcc can do C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
# Code for one architecture is for working on it: profilers show the source beside the instructions.
# Code for several is for shipping, and is made small.
list(LENGTH CMAKE_CUDA_ARCHITECTURES architectures)
if(architectures EQUAL 1 AND NOT CMAKE_CUDA_ARCHITECTURES MATCHES "^all")
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()
find_package(CUDAToolkit REQUIRED)

# CuTe's headers (CUTLASS, from the package nvidia-cutlass), for the ladder's CuTe rungs.
file(GLOB cutlass_packages
  ${PROJECT_SOURCE_DIR}/.venv/lib/python*/site-packages/cutlass_library/source/include)
find_path(CORNERTURN_CUTLASS_INCLUDE cute/tensor.hpp
  HINTS ${cutlass_packages}
  DOC "The folder that holds cute/tensor.hpp; without it the CuTe rungs are left out")
if(NOT CORNERTURN_CUTLASS_INCLUDE)
  message(STATUS "The ladder's cute_* rungs are left out: no cute/tensor.hpp in .venv nor in "
    "CORNERTURN_CUTLASS_INCLUDE (scripts/setup.sh full adds it)")
endif()
