#include "workshop/cuda_source/front/program.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include "cornerturn/error.hpp"
#include "workshop/cuda_source/front/compiler.hpp"
#include "workshop/cuda_source/front/declarations.hpp"

namespace cornerturn::cuda_source {
namespace {

[[noreturn]] void refuse_program(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// "transpose" of "ns::transpose<float, 32>".
std::string plain_name(const std::string& text) {
  std::string name = text.substr(0, text.find('<'));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// All files' tokens and declarations. Their texts belong to `sources`.
struct Whole {
  explicit Whole(const Sources& sources) {
    for (const SourceFile& file : sources.files) {
      tokens.push_back(tokens_of(file.text));
      declarations.push_back(declarations_of(tokens.back()));
    }
  }

  std::vector<const Declaration*> all() const {
    std::vector<const Declaration*> out;
    for (const auto& of_file : declarations) {
      for (const Declaration& one : of_file) out.push_back(&one);
    }
    return out;
  }

  std::vector<std::string> names_of(bool (*wanted)(const Declaration&)) const {
    std::vector<std::string> out;
    for (const Declaration* one : all()) {
      if (!wanted(*one) || one->names.empty()) continue;
      const std::string name(one->names.back());
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
    return out;
  }

  std::vector<Tokens> tokens;
  std::vector<std::vector<Declaration>> declarations;
};

bool is_kernel(const Declaration& one) {
  return one.is_kernel;
}
bool is_host_function(const Declaration& one) {
  return one.is_function && !one.is_device && !one.names.empty() && one.names.back() != "main" &&
         !one.is_needed;
}

// Every word of `text`, which is a name with its template arguments.
std::set<std::string_view> words_in(const std::string& text) {
  std::set<std::string_view> words;
  for (const Token& token : tokens_of(text)) {
    if (token.is_word()) words.insert(token.text);
  }
  return words;
}

std::string blanked(const Tokens& tokens, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    for (const char c : tokens[i].text) {
      if (c == '\n') text += '\n';
    }
  }
  return text;
}

class Writer {
 public:
  Writer(const Sources& sources, const Request& request, const std::set<std::string>& missing)
      : sources_(sources), request_(request), missing_(missing), whole_(sources) {}

  std::vector<std::string> texts() {
    const bool has_own_main = !request_.kernel.empty() || !request_.function.empty();
    if (has_own_main) {
      const std::string& root = request_.kernel.empty() ? request_.function : request_.kernel;
      require(root);
      names_ = words_in(root);
      add_what_is_used(whole_.all(), names_);
      picks_ = true;
    } else if (!has_main()) {
      refuse_without_main();
    }
    std::vector<std::string> out = rewritten();
    if (!refusal_.empty() && !picks_) {
      // What main does not need may hold anything.
      names_ = {"main"};
      add_what_is_used(whole_.all(), names_);
      picks_ = true;
      refusal_.clear();
      out = rewritten();
    }
    if (!refusal_.empty()) refuse_program(refusal_);
    if (has_own_main) out.front() += generated_main();
    return out;
  }

 private:
  bool has_main() const {
    const auto all = whole_.all();
    return std::any_of(all.begin(), all.end(), [](const Declaration* one) {
      return one->is_function && one->declares("main");
    });
  }

  [[noreturn]] void refuse_without_main() const {
    const std::string kernels = listed(whole_.names_of(is_kernel));
    const std::string& file = sources_.files.front().name;
    if (kernels.empty()) refuse_program(file + ": there is neither a main nor a kernel in it");
    refuse_program(file +
                   ": there is no main. --kernel, --grid, --block and --arg launch one of the "
                   "kernels " +
                   kernels + ", and --call a function of the host");
  }

  void require(const std::string& root) const {
    const std::string name = plain_name(root);
    const bool is_launch = !request_.kernel.empty();
    for (const Declaration* one : whole_.all()) {
      if (one->declares(name) && (is_launch ? one->is_kernel : true)) return;
    }
    // A macro may declare it.
    for (const Declaration* one : whole_.all()) {
      if (one->uses.count(name) != 0) return;
    }
    const auto known = whole_.names_of(is_launch ? is_kernel : is_host_function);
    refuse_program(std::string(is_launch ? "--kernel" : "--call") + " = '" + root +
                   "': " + sources_.files.front().name + " has " +
                   (known.empty() ? "none" : listed(known)));
  }

  bool is_kept(const Declaration& one) const {
    if (!picks_ || one.is_macro || one.is_needed) return true;
    if (request_.kernel.empty() != request_.function.empty() && one.declares("main")) return false;
    return std::any_of(one.names.begin(), one.names.end(),
                       [&](std::string_view name) { return names_.count(name) != 0; });
  }

  // One file without what is left out.
  std::string picked(std::size_t file) {
    const Tokens& tokens = whole_.tokens[file];
    std::string text;
    std::size_t at = 0;
    const auto copy = [&](std::size_t to) {
      for (; at < to; ++at) {
        text += is_missing_header(tokens[at]) ? blanked(tokens, at, at + 1)
                                              : std::string(tokens[at].text);
      }
    };
    for (const Declaration& one : whole_.declarations[file]) {
      if (is_kept(one)) {
        refuse_nested_launch(file, one);
        continue;
      }
      copy(one.begin);
      text += blanked_with_directives(tokens, one);
      at = one.end;
    }
    copy(tokens.size());
    return text;
  }

  // Conditions that open and close inside of it stay: what they hold is gone.
  static std::string blanked_with_directives(const Tokens& tokens, const Declaration& one) {
    std::string text;
    for (std::size_t i = one.begin; i < one.end; ++i) {
      const bool stays =
          tokens[i].kind == TokenKind::directive && directive_name(tokens[i].text) != "pragma";
      text += stays ? std::string(tokens[i].text) : blanked(tokens, i, i + 1);
    }
    return text;
  }

  bool is_missing_header(const Token& token) const {
    if (token.kind != TokenKind::directive || directive_name(token.text) != "include") return false;
    return std::any_of(missing_.begin(), missing_.end(), [&](const std::string& header) {
      return token.text.find('<' + header + '>') != std::string_view::npos ||
             token.text.find('"' + header + '"') != std::string_view::npos;
    });
  }

  void refuse_nested_launch(std::size_t file, const Declaration& one) {
    if (!one.is_function || !one.is_device) return;
    for (std::size_t i = one.begin; i < one.end; ++i) {
      if (whole_.tokens[file][i].is("<<<")) {
        refuse(file, whole_.tokens[file][i].line,
               "launches by a kernel (dynamic parallelism) are not understood here");
      }
    }
  }

  void refuse(std::size_t file, std::size_t line, const std::string& what) {
    if (!refusal_.empty()) return;
    refusal_ = sources_.files[file].name + ":" + std::to_string(line) + ": " + what;
  }

  std::vector<std::string> rewritten() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < sources_.files.size(); ++i) {
      Rewritten done = rewrite(picked(i));
      if (!done.refusals.empty()) refuse(i, done.refusals.front().line, done.refusals.front().what);
      out.push_back(std::move(done.text));
    }
    return out;
  }

  std::string generated_main() const {
    if (request_.kernel.empty()) {
      return function_main(request_.function, request_.arguments, request_.results);
    }
    KernelCall call;
    call.kernel = request_.kernel;
    call.grid = request_.grid;
    call.block = request_.block;
    call.shared = request_.shared;
    call.arguments = request_.arguments;
    call.results = request_.results;
    const std::string name = plain_name(request_.kernel);
    for (std::size_t i = 0; i < sources_.files.size(); ++i) {
      for (const Declaration& one : whole_.declarations[i]) {
        if (!one.is_kernel || !one.declares(name)) continue;
        call.file = sources_.files[i].path;
        call.line = one.line;
      }
    }
    return kernel_main(call);
  }

  const Sources& sources_;
  const Request& request_;
  const std::set<std::string>& missing_;
  const Whole whole_;
  std::set<std::string_view> names_;
  bool picks_ = false;
  std::string refusal_;
};

}  // namespace

Program::Program(Sources sources, Request request, std::vector<std::string> folders)
    : sources_(std::move(sources)), request_(std::move(request)), folders_(std::move(folders)) {}

std::string Program::write(const std::string& folder) const {
  return write_sources(sources_, Writer(sources_, request_, missing_).texts(), folders_, folder);
}

bool Program::leave_out(const std::string& said) {
  const std::string header = missing_header(said);
  if (request_.kernel.empty() && request_.function.empty()) return false;
  return !header.empty() && missing_.insert(header).second;
}

Program read_program(const std::string& file, const Request& request,
                     const std::vector<std::string>& folders) {
  return {read_sources(file, folders), request, folders};
}

std::string link_error(const std::string& said, const Sources& sources) {
  static const std::regex undefined("undefined reference to [`']([^`']*)'");
  std::smatch found;
  const std::string& file = sources.files.front().name;
  if (!std::regex_search(said, found, undefined)) {
    return file + " cannot be linked: " + said.substr(0, said.find('\n'));
  }
  return file + ": '" + found[1].str() + "' is declared, and defined nowhere";
}

}  // namespace cornerturn::cuda_source
