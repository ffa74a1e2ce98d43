# Writes OUTPUT, a C++ file that holds every described device of DEVICES (a list of JSON files) as
# text.
set(entries "")
foreach(file IN LISTS DEVICES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
set(content "#include \"plan/gpu/device_files.hpp\"

namespace cornerturn::plan::gpu {

const std::vector<EmbeddedDevice>& embedded_devices() {
  static const std::vector<EmbeddedDevice> devices = {
${entries}  };
  return devices;
}

}  // namespace cornerturn::plan::gpu
")
file(WRITE ${OUTPUT} "${content}")
