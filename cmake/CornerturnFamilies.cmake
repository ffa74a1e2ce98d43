# The families of kernels, as their two lists name them, and the files that are compiled once a
# family of GPU kernels.
foreach(machine IN ITEMS cpu gpu)
  set(list ${PROJECT_SOURCE_DIR}/src/plan/${machine}/families.hpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} families REGEX "^    [a-z_0-9]+::Family[,>]")
  list(TRANSFORM families REPLACE "^ *([a-z_0-9]+)::.*" "\\1")
  string(TOUPPER ${machine} machine)
  set(CORNERTURN_${machine}_FAMILIES ${families})
endforeach()

# cornerturn_family_files(OUTPUT_VARIABLE TEMPLATE EXTENSION)
# One file a family from TEMPLATE, in which @family@ is its name.
function(cornerturn_family_files variable template extension)
  set(files "")
  get_filename_component(stem ${template} NAME_WE)
  foreach(family IN LISTS CORNERTURN_GPU_FAMILIES)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${family}.${extension})
    configure_file(${template} ${file} @ONLY)
    list(APPEND files ${file})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
