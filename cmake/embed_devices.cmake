# Writes OUTPUT, a C++ file that holds every described device of DEVICES (a list of JSON files) as
# text: FUNCTION of NAMESPACE returns a list of TYPE, declared in HEADER.
set(entries "")
foreach(file IN LISTS DEVICES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
set(content "#include \"${HEADER}\"

namespace ${NAMESPACE} {

const std::vector<${TYPE}>& ${FUNCTION}() {
  // Never destroyed, as all that calls need.
  static const auto& devices = *new std::vector<${TYPE}>{
${entries}  };
  return devices;
}

}  // namespace ${NAMESPACE}
")
file(WRITE ${OUTPUT} "${content}")
