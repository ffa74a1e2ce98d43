# `cmake --install`: headers, the shared library, the command line, and what finds them: CMake
# package files and cornerturn.pc.
include(CMakePackageConfigHelpers)

install(TARGETS cornerturn
  EXPORT cornerturnTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET cornerturn_static)
  install(TARGETS cornerturn_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cornerturn
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

# cornerturn_install_check(INCLUDE_FOLDER LIBRARY_FOLDER [COMPONENT name])
# What `cornerturn check` compiles and links programs with.
function(cornerturn_install_check include libraries)
  # CUDA sources: headers that stand for CUDA's, and what runs kernels.
  if(TARGET cornerturn_cuda_source)
    install(TARGETS cornerturn_cuda_source ARCHIVE DESTINATION ${libraries} ${ARGN})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/workshop/cuda_source/guest/
      DESTINATION ${include}/cornerturn/cuda_source ${ARGN})
  endif()
  # The emulator, for kernels of one's own: its library, and the headers that a kernel includes.
  if(NOT TARGET cornerturn_emulator)
    return()
  endif()
  set(emulator ${include}/cornerturn/emulator)
  set(sources ${PROJECT_SOURCE_DIR}/src)
  install(TARGETS cornerturn_emulator ARCHIVE DESTINATION ${libraries} ${ARGN})
  install(FILES ${sources}/workshop/ladder/cornerturn_emulator.hpp DESTINATION ${emulator} ${ARGN})
  install(FILES ${sources}/kernels/context.hpp ${sources}/kernels/gpu_context.cuh
    DESTINATION ${emulator}/kernels ${ARGN})
  install(DIRECTORY ${sources}/maps DESTINATION ${emulator} ${ARGN} FILES_MATCHING PATTERN "*.hpp")
  install(FILES ${sources}/workshop/rungs/matrix.hpp DESTINATION ${emulator}/workshop/rungs ${ARGN})
  install(FILES
    ${sources}/workshop/ladder/check_kernel.hpp
    ${sources}/workshop/ladder/make_body.hpp
    ${sources}/workshop/ladder/rung.hpp
    DESTINATION ${emulator}/workshop/ladder ${ARGN})
  install(DIRECTORY ${sources}/workshop/simt DESTINATION ${emulator}/workshop ${ARGN}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "execute.hpp" EXCLUDE PATTERN "run_family.hpp" EXCLUDE
    PATTERN "run_launches.hpp" EXCLUDE)
endfunction()

cornerturn_install_check(${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR})
set(emulator_dir ${CMAKE_INSTALL_INCLUDEDIR}/cornerturn/emulator)
if(CORNERTURN_BUILD_PYTHON AND CORNERTURN_BUILD_TOOLS)  # beside the command of the package
  cornerturn_install_check(cornerturn/include cornerturn/lib COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cornerturn DESTINATION cornerturn/include COMPONENT python
    FILES_MATCHING PATTERN "*.hpp")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/puzzles DESTINATION cornerturn/share/cornerturn
    COMPONENT python)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/third_party/NOTICES.txt
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cornerturn)
install(EXPORT cornerturnTargets NAMESPACE cornerturn:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/cornerturnConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cornerturnConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR emulator_dir)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cornerturnConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cornerturnConfig.cmake
  ${PROJECT_BINARY_DIR}/cornerturnConfigVersion.cmake
  DESTINATION ${package_dir})

# cornerturn.pc finds its prefix from where it lies, so that the package can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${pkgconfig_dir}
  OUTPUT_VARIABLE CORNERTURN_PC_TO_PREFIX)
configure_file(${PROJECT_SOURCE_DIR}/cmake/cornerturn.pc.in ${PROJECT_BINARY_DIR}/cornerturn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cornerturn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
