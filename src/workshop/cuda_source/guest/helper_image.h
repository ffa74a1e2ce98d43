// Files of numbers and images, by the names that sample programs use.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

/// Reads numbers with blanks between them, but lines that begin with '#'. Where there is no memory
/// yet, it is allocated.
template <class T>
bool sdkReadFile(const char* name, T** data, unsigned* count, bool says_so) {
  std::ifstream file(name);
  std::vector<T> values;
  for (std::string line; std::getline(file, line);) {
    std::istringstream numbers(line[0] == '#' ? "" : line);
    for (T value; numbers >> value;) values.push_back(value);
  }
  if (values.empty() || (*data != nullptr && *count != values.size())) {
    if (says_so) std::cerr << name << " has " << values.size() << " numbers\n";
    return false;
  }
  if (*data == nullptr) {
    *data = static_cast<T*>(std::malloc(values.size() * sizeof(T)));
    *count = static_cast<unsigned>(values.size());
  }
  for (std::size_t i = 0; i < values.size(); ++i) (*data)[i] = values[i];
  return true;
}

/// Writes numbers with blanks between them, after how exact they are.
template <class T, class S>
bool sdkWriteFile(const char* name, const T* data, unsigned count, const S most, bool says_so,
                  bool appends = false) {
  std::ofstream file(name, appends ? std::ios::app : std::ios::trunc);
  file << "# " << most << "\n";
  for (unsigned i = 0; i < count; ++i) file << data[i] << ' ';
  file << std::endl;
  if (!file && says_so) std::cerr << name << " cannot be written\n";
  return static_cast<bool>(file);
}

namespace cornerturn::guest {

// An image of the format P5 or P6, of `channels` bytes for each of its dots.
struct Image {
  unsigned width = 0, height = 0, channels = 0;
  std::vector<unsigned char> bytes;

  explicit Image(const char* name) {
    std::ifstream file(name, std::ios::binary);
    std::string format;
    file >> format;
    width = number(file);
    height = number(file);
    const unsigned largest = number(file);
    file.get();
    channels = format == "P5" ? 1 : format == "P6" ? 3 : 0;
    bytes.resize(largest > 255 ? 0 : std::size_t{width} * height * channels);
    if (!bytes.empty()) {
      file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    if (!file) bytes.clear();
  }

 private:
  static unsigned number(std::istream& file) {
    while ((file >> std::ws).peek() == '#') {
      std::string comment;
      std::getline(file, comment);
    }
    unsigned value = 0;
    file >> value;
    return value;
  }
};

inline bool save_image(const char* name, const std::vector<unsigned char>& bytes, unsigned width,
                       unsigned height) {
  std::ofstream file(name, std::ios::binary);
  file << (bytes.size() == std::size_t{width} * height ? "P5\n" : "P6\n") << width << '\n';
  file << height << "\n255\n";
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(file.flush());
}

// Dots of 8 bits, or from 0 to 1.
template <class T>
constexpr float image_scale = std::is_floating_point<T>::value ? 255.0f : 1.0f;

}  // namespace cornerturn::guest

template <class T>
bool sdkLoadPGM(const char* name, T** data, unsigned* width, unsigned* height) {
  const ::cornerturn::guest::Image image(name);
  if (image.bytes.empty() || image.channels != 1) return false;
  *width = image.width;
  *height = image.height;
  if (*data == nullptr) *data = static_cast<T*>(std::malloc(image.bytes.size() * sizeof(T)));
  for (std::size_t i = 0; i < image.bytes.size(); ++i) {
    (*data)[i] = static_cast<T>(image.bytes[i] / ::cornerturn::guest::image_scale<T>);
  }
  return true;
}
template <class T>
bool sdkSavePGM(const char* name, T* data, unsigned width, unsigned height) {
  std::vector<unsigned char> bytes(std::size_t{width} * height);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(data[i] * ::cornerturn::guest::image_scale<T>);
  }
  return ::cornerturn::guest::save_image(name, bytes, width, height);
}

/// Dots of four bytes, of which the file has three.
template <class T>
bool sdkLoadPPM4(const char* name, T** data, unsigned* width, unsigned* height) {
  static_assert(sizeof(T) == 1, "four bytes for each dot");
  const ::cornerturn::guest::Image image(name);
  if (image.bytes.empty() || image.channels != 3) return false;
  *width = image.width;
  *height = image.height;
  if (*data == nullptr) *data = static_cast<T*>(std::malloc(image.bytes.size() / 3 * 4));
  for (std::size_t i = 0; i < image.bytes.size() / 3; ++i) {
    for (std::size_t c = 0; c < 4; ++c) {
      (*data)[4 * i + c] = c < 3 ? static_cast<T>(image.bytes[3 * i + c]) : T{0};
    }
  }
  return true;
}
inline bool sdkSavePPM4ub(const char* name, unsigned char* data, unsigned width, unsigned height) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
    bytes.insert(bytes.end(), data + 4 * i, data + 4 * i + 3);
  }
  return ::cornerturn::guest::save_image(name, bytes, width, height);
}
