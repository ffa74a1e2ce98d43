#include "files/place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cornerturn::files {
namespace {

// As many as Linux follows itself.
constexpr int most_links = 40;

std::optional<std::string> target_of_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t bytes = ::readlink(path.c_str(), target.data(), target.size());
  if (bytes < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(bytes));
}

std::optional<std::string> canonical(const std::string& directory) {
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(directory.c_str(), resolved.data()) == nullptr) return std::nullopt;
  return std::string(resolved.data());
}

// The entries of this folder are this process's open files. As links they lead nowhere: what they
// name need not have a path.
bool holds_descriptors(const std::string& directory) {
  const auto resolved = canonical(directory);
  return resolved &&
         (resolved == canonical("/proc/self/fd") || resolved == canonical("/proc/thread-self/fd"));
}

std::optional<int> descriptor_of(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  int descriptor = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  const bool number = error == std::errc() && end == name.data() + name.size() && descriptor >= 0;
  if (!number || !holds_descriptors(directory_of(path))) return std::nullopt;
  return descriptor;
}

}  // namespace

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Place place_of(const std::string& path) {
  Place place{path};
  for (int links = 0; links < most_links; ++links) {
    if (const auto descriptor = descriptor_of(place.path)) {
      place.descriptor = *descriptor;
      break;
    }
    const auto target = target_of_link(place.path);
    if (!target) break;
    const bool absolute = target->starts_with('/');
    place.path = absolute ? *target : directory_of(place.path) + "/" + *target;
  }
  return place;
}

bool same_place(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  const bool have_first = ::stat(a.c_str(), &first) == 0;
  const bool have_second = ::stat(b.c_str(), &second) == 0;
  if (have_first && have_second) {
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  }
  if (have_first != have_second) return false;
  // What is not there yet is known by its folder.
  const auto name_in_folder = [](const std::string& path) {
    const std::string place = place_of(path).path;
    const std::string directory = directory_of(place);
    return canonical(directory).value_or(directory) + "/" + place.substr(place.rfind('/') + 1);
  };
  return name_in_folder(a) == name_in_folder(b);
}

bool is_standard_output(const std::string& path) {
  const Place place = place_of(path);
  if (path == "-" || place.descriptor == STDOUT_FILENO) return true;
  struct stat there {};
  struct stat here {};
  const bool known = place.descriptor >= 0 ? ::fstat(place.descriptor, &there) == 0
                                           : ::stat(place.path.c_str(), &there) == 0;
  // A regular file that has a path is replaced, and what standard output was opened on stays.
  if (!known || (place.descriptor < 0 && S_ISREG(there.st_mode))) return false;
  return ::fstat(STDOUT_FILENO, &here) == 0 && there.st_dev == here.st_dev &&
         there.st_ino == here.st_ino;
}

}  // namespace cornerturn::files
