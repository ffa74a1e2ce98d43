# The families of GPU kernels, as src/plan/gpu/families.hpp lists them, and the files that are
# compiled once a family.
set(list ${PROJECT_SOURCE_DIR}/src/plan/gpu/families.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
file(STRINGS ${list} CORNERTURN_GPU_FAMILIES REGEX "^    [a-z_0-9]+::Family[,>]")
list(TRANSFORM CORNERTURN_GPU_FAMILIES REPLACE "^ *([a-z_0-9]+)::.*" "\\1")

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
