#include "workshop/cuda_source/front/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cornerturn/error.hpp"
#include "files/file.hpp"

namespace cornerturn::cuda_source {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string whole_path(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::canonical(path, failed);
  return failed ? fs::absolute(path).lexically_normal().string() : whole.string();
}

// A path as a text in the source: what a text cannot hold is escaped.
std::string quoted(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string copy_name(std::size_t index) {
  return "source-" + std::to_string(index) + (index == 0 ? ".cpp" : ".hpp");
}

// How people call a header: by the way from the folder of the file that they named.
std::string name_beside(const std::string& path, const SourceFile& first) {
  const fs::path relative = fs::path(path).lexically_relative(fs::path(first.path).parent_path());
  if (relative.empty() || *relative.begin() == "..") return path;
  return (fs::path(first.name).parent_path() / relative).string();
}

}  // namespace

bool Sources::has(const std::string& path) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const SourceFile& file) { return file.path == path; });
}

std::string Sources::shown(const std::string& path) const {
  for (const SourceFile& file : files) {
    if (file.path == path) return file.name;
  }
  return path;
}

std::string included_file(std::string_view directive, const std::string& includer,
                          const std::vector<std::string>& folders) {
  if (directive_name(directive) != "include") return "";
  const std::size_t open = directive.find_first_of("\"<");
  if (open == std::string_view::npos) return "";
  const std::size_t close = directive.find(directive[open] == '<' ? '>' : '"', open + 1);
  if (close == std::string_view::npos) return "";
  const fs::path name = std::string(directive.substr(open + 1, close - open - 1));
  if (directive[open] == '"') {
    const fs::path beside = fs::path(includer).parent_path() / name;
    if (is_file(beside)) return whole_path(beside);
  }
  for (const std::string& folder : folders) {
    if (is_file(fs::path(folder) / name)) return whole_path(fs::path(folder) / name);
  }
  return "";
}

namespace {

// Without the mark of UTF-8 that some editors begin a file with: compilers take it there alone, and
// a line of ours comes before it.
std::string source_text(const std::string& path, const char* argument) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  std::string text = files::read_text(path, argument);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

}  // namespace

Sources read_sources(const std::string& file, const std::vector<std::string>& folders) {
  Sources sources;
  sources.files.push_back({whole_path(file), source_text(file, "FILE"), file});
  for (std::size_t i = 0; i < sources.files.size(); ++i) {
    const std::string text = sources.files[i].text;
    const std::string path = sources.files[i].path;
    for (const Token& token : tokens_of(text)) {
      if (token.kind != TokenKind::directive) continue;
      const std::string found = included_file(token.text, path, folders);
      const auto same = [&](const SourceFile& known) { return known.path == found; };
      if (found.empty() || std::any_of(sources.files.begin(), sources.files.end(), same)) continue;
      sources.files.push_back({found, source_text(found, "an included file"),
                               name_beside(found, sources.files.front())});
    }
  }
  return sources;
}

std::string write_sources(const Sources& sources, const std::vector<std::string>& texts,
                          const std::vector<std::string>& folders, const std::string& folder) {
  for (std::size_t i = 0; i < sources.files.size(); ++i) {
    std::string text = "#line 1 " + quoted(sources.files[i].path) + "\n";
    for (const Token& token : tokens_of(texts[i])) {
      const std::string found = token.kind == TokenKind::directive
                                    ? included_file(token.text, sources.files[i].path, folders)
                                    : "";
      const auto known = std::find_if(sources.files.begin(), sources.files.end(),
                                      [&](const SourceFile& one) { return one.path == found; });
      if (found.empty() || known == sources.files.end()) {
        text += token.text;
        continue;
      }
      const auto index = static_cast<std::size_t>(known - sources.files.begin());
      text += "#include " + quoted((fs::path(folder) / copy_name(index)).string());
      text.append(static_cast<std::size_t>(std::count(token.text.begin(), token.text.end(), '\n')),
                  '\n');
    }
    const fs::path path = fs::path(folder) / copy_name(i);
    std::ofstream out(path);
    out << text;
    if (!out.flush()) {
      throw Error(Status::io_error, path.string() + " cannot be written");
    }
  }
  return (fs::path(folder) / copy_name(0)).string();
}

}  // namespace cornerturn::cuda_source
