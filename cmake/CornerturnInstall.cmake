# `cmake --install`: headers, the shared library, the command line, and what finds them: CMake
# package files and cornerturn.pc.
include(CMakePackageConfigHelpers)

install(TARGETS cornerturn
  EXPORT cornerturnTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cornerturn
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

# What `cornerturn check` compiles CUDA sources with.
if(TARGET cornerturn_cuda_source)
  install(TARGETS cornerturn_cuda_source ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/workshop/cuda_source/guest/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cornerturn/cuda_source)
endif()

# The emulator, for kernels of one's own: its library, and the headers that a kernel includes.
set(emulator_dir ${CMAKE_INSTALL_INCLUDEDIR}/cornerturn/emulator)
if(TARGET cornerturn_emulator)
  install(TARGETS cornerturn_emulator ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/src/workshop/ladder/cornerturn_emulator.hpp DESTINATION ${emulator_dir})
  install(FILES
    ${PROJECT_SOURCE_DIR}/src/kernels/context.hpp
    ${PROJECT_SOURCE_DIR}/src/kernels/gpu_context.cuh
    DESTINATION ${emulator_dir}/kernels)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/maps DESTINATION ${emulator_dir}
    FILES_MATCHING PATTERN "*.hpp")
  install(FILES
    ${PROJECT_SOURCE_DIR}/src/workshop/rungs/matrix.hpp DESTINATION ${emulator_dir}/workshop/rungs)
  install(FILES
    ${PROJECT_SOURCE_DIR}/src/workshop/ladder/check_kernel.hpp
    ${PROJECT_SOURCE_DIR}/src/workshop/ladder/make_body.hpp
    ${PROJECT_SOURCE_DIR}/src/workshop/ladder/rung.hpp
    DESTINATION ${emulator_dir}/workshop/ladder)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/workshop/simt DESTINATION ${emulator_dir}/workshop
    FILES_MATCHING PATTERN "*.hpp" PATTERN "execute.hpp" EXCLUDE PATTERN "run_family.hpp" EXCLUDE
    PATTERN "run_launches.hpp" EXCLUDE)
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
