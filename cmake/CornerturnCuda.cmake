# Device code: nvcc, and the architectures it compiles for (CMAKE_CUDA_ARCHITECTURES overrides).
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a-real)
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
