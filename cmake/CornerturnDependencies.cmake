# What the library itself needs. All that is missing is named at once.
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
find_package(fmt QUIET)
find_package(TBB QUIET)
find_package(nlohmann_json QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy>=1.0.3)
endif()

set(missing "")
foreach(dependency IN ITEMS
    PkgConfig:pkg-config fmt:libfmt-dev TBB:libtbb-dev nlohmann_json:nlohmann-json3-dev HWY:libhwy-dev)
  string(REPLACE ":" ";" dependency ${dependency})
  list(GET dependency 0 name)
  list(GET dependency 1 package)
  if(NOT ${name}_FOUND)
    string(APPEND missing " ${package}")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "Cornerturn needs packages that are not installed here. On Debian or Ubuntu:\n"
    "  apt-get install${missing}\n"
    "Elsewhere: pkg-config, fmt, oneTBB, nlohmann-json and Highway 1.0.3 or newer.")
endif()
