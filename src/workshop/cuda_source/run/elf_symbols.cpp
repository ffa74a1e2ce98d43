#include "workshop/cuda_source/run/elf_symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

namespace cornerturn::cuda_source {

namespace {

using Bytes = std::vector<char>;

// Part of a file that may be cut short: nothing is read behind its end.
template <class T>
std::vector<T> table(const Bytes& file, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset) return {};
  std::vector<T> all(bytes / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), file.data() + offset, all.size() * sizeof(T));
  return all;
}

std::string text_at(const std::vector<char>& texts, std::size_t at) {
  if (at >= texts.size()) return "";
  const auto end = std::find(texts.begin() + static_cast<std::ptrdiff_t>(at), texts.end(), '\0');
  return {texts.begin() + static_cast<std::ptrdiff_t>(at), end};
}

// The variable's own name: `transpose(float*, float const*)::tile` is `tile`.
std::string plain_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 && text ? text.get() : symbol;
  // Local symbols of g++ end in a number: tile.0
  if (status != 0) name = name.substr(0, name.find('.'));
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 1;) {
    const char c = name[i];
    if (c == ')' || c == '>' || c == '}') ++depth;
    if (c == '(' || c == '<' || c == '{') --depth;
    if (depth == 0 && c == ':' && name[i - 1] == ':') return name.substr(i + 1);
  }
  return name;
}

int main_program(dl_phdr_info* info, std::size_t, void* user) {
  auto& symbols = *static_cast<ProgramSymbols*>(user);
  symbols.load_address = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_TLS) {
      symbols.tls_first = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
      symbols.tls_bytes = part.p_memsz;
    }
    const bool fixed =
        part.p_type == PT_GNU_RELRO || (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0);
    if (fixed) symbols.constants.push_back({info->dlpi_addr + part.p_vaddr, part.p_memsz});
  }
  return 1;  // the first one is the program
}

struct Sections {
  std::vector<ElfW(Shdr)> all;
  std::vector<char> names;

  std::string name(std::size_t i) const {
    return i < all.size() ? text_at(names, all[i].sh_name) : "";
  }
};

void sort_symbol(ProgramSymbols& to, const Sections& sections, const ElfW(Sym) & symbol,
                 const std::string& name) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) return;
  if (type == STT_TLS) {
    // Names of this library, and of the variables by which g++ guards arrays of classes. A kernel's
    // own name may hold the project's as well, where it takes a half.
    const bool ours = name.rfind("cornerturn_", 0) == 0 || name.rfind("_ZGV", 0) == 0 ||
                      name.rfind("_ZN10cornerturn", 0) == 0 ||
                      name.rfind("_ZZN10cornerturn", 0) == 0;
    auto& kind = ours ? to.plain_locals : to.shared;
    if (name == "cornerturn_dynamic_shared") return;
    kind.push_back({plain_name(name), to.tls_first + symbol.st_value, symbol.st_size});
    return;
  }
  if (type != STT_OBJECT) return;
  const std::string section = sections.name(symbol.st_shndx);
  const Variable variable{plain_name(name), to.load_address + symbol.st_value, symbol.st_size};
  if (section == "ct_device") to.device.push_back(variable);
  if (section == "ct_managed") to.managed.push_back(variable);
  if (section == "ct_constant") to.constant.push_back(variable);
}

}  // namespace

ProgramSymbols read_program_symbols() {
  ProgramSymbols symbols;
  dl_iterate_phdr(&main_program, &symbols);
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const Bytes file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const auto heads = table<ElfW(Ehdr)>(file, 0, sizeof(ElfW(Ehdr)));
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0) return symbols;
  Sections sections;
  sections.all = table<ElfW(Shdr)>(file, heads[0].e_shoff, heads[0].e_shnum * sizeof(ElfW(Shdr)));
  if (heads[0].e_shstrndx < sections.all.size()) {
    const auto& names = sections.all[heads[0].e_shstrndx];
    sections.names = table<char>(file, names.sh_offset, names.sh_size);
  }
  for (const auto& section : sections.all) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.all.size()) continue;
    const auto& texts_at = sections.all[section.sh_link];
    const auto texts = table<char>(file, texts_at.sh_offset, texts_at.sh_size);
    for (const auto& symbol : table<ElfW(Sym)>(file, section.sh_offset, section.sh_size)) {
      sort_symbol(symbols, sections, symbol, text_at(texts, symbol.st_name));
    }
  }
  const auto by_address = [](const Variable& a, const Variable& b) {
    return a.address < b.address;
  };
  std::sort(symbols.shared.begin(), symbols.shared.end(), by_address);
  return symbols;
}

}  // namespace cornerturn::cuda_source
