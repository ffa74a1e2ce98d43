#include "workshop/cuda_source/run/places.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "workshop/cuda_source/run/running.hpp"

extern char** environ;

namespace cornerturn::cuda_source {

namespace {

// A file without a name, which is gone with the process.
int nameless_file() {
  char name[] = "/tmp/cornerturn-XXXXXX";
  const int file = mkostemp(name, O_CLOEXEC);
  if (file >= 0) unlink(name);
  return file;
}

std::string executable() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

std::string whole(int file) {
  std::string text;
  char part[65536];
  lseek(file, 0, SEEK_SET);
  for (ssize_t size; (size = read(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  return text;
}

// What addr2line says of all the addresses; empty where it cannot be run.
std::string ask(const std::string& addresses) {
  const int in = nameless_file();
  const int out = nameless_file();
  std::string said;
  if (in >= 0 && out >= 0 &&
      write(in, addresses.data(), addresses.size()) == static_cast<ssize_t>(addresses.size())) {
    lseek(in, 0, SEEK_SET);
    std::string program = executable();
    char command[] = "addr2line";
    char all[] = "-a";
    char inlined[] = "-i";
    char of[] = "-e";
    char* words[] = {command, all, inlined, of, program.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    if (posix_spawnp(&child, command, &files, nullptr, words, environ) == 0) {
      int status = 0;
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      if (status == 0) said = whole(out);
    }
    posix_spawn_file_actions_destroy(&files);
  }
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return said;
}

bool is_the_users(const std::string& file) {
  for (const char* not_theirs : {"/cuda_source/guest/", "/cornerturn/cuda_source/", "/usr/include/",
                                 "/usr/lib/", "/usr/local/include/"}) {
    if (file.find(not_theirs) != std::string::npos) return false;
  }
  return true;
}

// `file:line` or `file:line (discriminator 3)`
SourceLine read_line(const std::string& text) {
  const std::size_t end =
      text.find(' ') == std::string::npos || text.find(" (") == std::string::npos
          ? text.size()
          : text.rfind(" (");
  const std::size_t colon = text.rfind(':', end);
  if (colon == std::string::npos || text.compare(0, 2, "??") == 0) return {};
  const auto line = std::strtoul(text.c_str() + colon + 1, nullptr, 10);
  return {text.substr(0, colon), static_cast<unsigned>(line)};
}

}  // namespace

std::vector<SourceLine> source_lines(const std::vector<Where>& places) {
  std::vector<std::uintptr_t> codes;
  for (const Where& where : places) {
    if (where.code != 0) codes.push_back(where.code - running.load_address);
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  std::ostringstream addresses;
  addresses << std::hex;
  for (const std::uintptr_t code : codes) addresses << "0x" << code << '\n';
  std::map<std::uintptr_t, SourceLine> lines;
  if (!codes.empty()) {
    std::istringstream said(ask(addresses.str()));
    std::uintptr_t code = 0;
    bool found = false;
    for (std::string text; std::getline(said, text);) {
      if (text.compare(0, 2, "0x") == 0) {
        code = std::strtoull(text.c_str(), nullptr, 16);
        found = false;
        continue;
      }
      const SourceLine line = read_line(text);
      // The innermost frame comes first.
      if (found || line.line == 0) continue;
      found = is_the_users(line.file);
      if (found || lines.count(code) == 0) lines[code] = line;
    }
  }
  std::vector<SourceLine> result;
  for (const Where& where : places) {
    if (where.code == 0) {
      result.push_back(where.file == nullptr ? SourceLine{} : SourceLine{where.file, where.line});
      continue;
    }
    const auto found = lines.find(where.code - running.load_address);
    result.push_back(found == lines.end() ? SourceLine{} : found->second);
  }
  return result;
}

}  // namespace cornerturn::cuda_source
