# `cmake --install`: headers, the shared library, the command line, and what finds them: CMake
# package files and cornerturn.pc.
include(CMakePackageConfigHelpers)

install(TARGETS cornerturn
  EXPORT cornerturnTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cornerturn
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cornerturn)
install(EXPORT cornerturnTargets NAMESPACE cornerturn:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/cornerturnConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cornerturnConfig.cmake
  INSTALL_DESTINATION ${package_dir})
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
