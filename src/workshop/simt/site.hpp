// Where in a kernel's source an access stands.
#pragma once

#include <string>

namespace cornerturn::simt {

struct Site {
  const char* file = "";
  unsigned line = 0;

  /// As a default argument: the place of the call.
  static constexpr Site here(const char* file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  // Literals of one file may be merged or not: the text decides, the pointer is a short cut.
  friend constexpr bool operator==(const Site& a, const Site& b) {
    return a.line == b.line &&
           (a.file == b.file ||
            std::char_traits<char>::compare(a.file, b.file, length(a.file, b.file)) == 0);
  }

 private:
  static constexpr std::size_t length(const char* a, const char* b) {
    const std::size_t n = std::char_traits<char>::length(a);
    const std::size_t m = std::char_traits<char>::length(b);
    return (n < m ? n : m) + 1;
  }
};

/// `file:line`, the file without its folders; the file alone when the line is 0.
inline std::string to_string(const Site& site) {
  const std::string file = site.file;
  const std::string line = site.line == 0 ? "" : ":" + std::to_string(site.line);
  return file.substr(file.rfind('/') + 1) + line;
}

}  // namespace cornerturn::simt
