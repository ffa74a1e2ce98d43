# CORNERTURN_NVCC_IS_HERE: is there an nvcc that knows all architectures that device code is built for?
set(CORNERTURN_NVCC_IS_HERE OFF)
find_program(CORNERTURN_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
if(CORNERTURN_NVCC)
  execute_process(COMMAND ${CORNERTURN_NVCC} --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" version "${version}")
  if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.8)
    set(CORNERTURN_NVCC_IS_HERE ON)
  else()
    message(STATUS "${CORNERTURN_NVCC} is of CUDA ${CMAKE_MATCH_1}, device code needs 12.8: "
      "the package is built for the CPU alone")
  endif()
endif()
