// Options of the command line, by the names that sample programs use: -name, --name and
// -name=value.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

// What stands after the '=' of an option, an empty text where it has none, nullptr where it is not
// there.
inline const char* cornerturn_option(int count, const char* const* arguments, const char* name) {
  const std::size_t letters = std::strlen(name);
  for (int i = 1; i < count; ++i) {
    const char* at = arguments[i];
    while (*at == '-') {
      ++at;
    }
    if (std::strncmp(at, name, letters) == 0 && (at[letters] == '=' || at[letters] == '\0')) {
      return at[letters] == '=' ? at + letters + 1 : at + letters;
    }
  }
  return nullptr;
}
inline bool checkCmdLineFlag(int count, const char** arguments, const char* name) {
  return cornerturn_option(count, arguments, name) != nullptr;
}
inline int getCmdLineArgumentInt(int count, const char** arguments, const char* name) {
  const char* const value = cornerturn_option(count, arguments, name);
  return value != nullptr ? std::atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int count, const char** arguments, const char* name) {
  const char* const value = cornerturn_option(count, arguments, name);
  return value != nullptr ? static_cast<float>(std::atof(value)) : 0;
}
template <class T>
bool getCmdLineArgumentValue(int count, const char** arguments, const char* name, T* value) {
  const char* const text = cornerturn_option(count, arguments, name);
  if (text != nullptr) {
    *value = static_cast<T>(std::atof(text));
  }
  return text != nullptr;
}
inline bool getCmdLineArgumentString(int count, const char** arguments, const char* name,
                                     char** value) {
  const char* const text = cornerturn_option(count, arguments, name);
  *value = const_cast<char*>(text);
  return text != nullptr;
}
// Samples look for data files beside their source, which is not known here.
inline char* sdkFindFilePath(const char*, const char*) {
  return nullptr;
}
