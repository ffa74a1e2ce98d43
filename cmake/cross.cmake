# Builds for `processor` with Debian's cross compiler, and runs what was built in qemu. The libraries
# lie in a folder of their own, which scripts/test_cross.sh fills. aarch64.cmake and s390x.cmake say
# which processor it is.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor})
set(CMAKE_C_COMPILER ${processor}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${processor}-linux-gnu-g++)

set(root ${CMAKE_CURRENT_LIST_DIR}/../build/${processor}/root)
cmake_path(NORMAL_PATH root)
set(libraries ${root}/usr/lib/${processor}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
add_link_options(-Wl,-rpath-link,${libraries})

set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-${processor} -L /usr/${processor}-linux-gnu -E LD_LIBRARY_PATH=${libraries})
