# Writes OUTPUT, a C++ file that holds every suite of SUITES (a list of JSON files) as text.
set(entries "")
foreach(file IN LISTS SUITES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
set(content "#include \"harness/case.hpp\"

namespace cornerturn::bench {

const std::vector<EmbeddedSuite>& embedded_suites() {
  static const std::vector<EmbeddedSuite> suites = {
${entries}  };
  return suites;
}

}  // namespace cornerturn::bench
")
file(WRITE ${OUTPUT} "${content}")
