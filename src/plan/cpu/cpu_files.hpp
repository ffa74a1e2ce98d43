// What things cost on CPUs that are described by JSON files: those of devices/cpu/, compiled in,
// and any other. A file says which processors it is for, and holds costs under the names that
// CpuCosts::named() lists; those that it leaves out are the defaults of CpuCosts. A family is for
// processors whose name does not tell them apart, as in virtual machines.
//
//   {"name": "AMD Zen 5", "models": ["AMD"], "family": 26, "isa": "AVX3", "note": "any text",
//    "costs": {"tile.read_line_ns": 2, ...}}
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan {

/// A file of devices/cpu/: its name without ".json", and what is in it.
struct EmbeddedCpu {
  std::string_view name;
  std::string_view text;
};
const std::vector<EmbeddedCpu>& embedded_cpus();

struct CpuFile {
  std::string name;
  std::vector<std::string> models;  ///< the processor's name, as the system has it, contains one
  int family = 0;                   ///< of x86 processors, as CPUID has it; 0: any
  std::string isa;                  ///< how the name of its widest vector target begins
  std::string note;
  std::shared_ptr<const CpuCosts> costs = standard_cpu_costs();

  bool describes(const CpuInfo& cpu) const;
};

/// The files of devices/cpu/, in the order of embedded_cpus().
const std::vector<CpuFile>& known_cpus();

/// The costs of the first known file that describes the processor, those with a family before the
/// others; else the defaults.
std::shared_ptr<const CpuCosts> costs_of(const CpuInfo& cpu);

/// "amd-zen4", or the path of a JSON file. Throws an Error that begins with `argument`.
CpuFile cpu_file_named(const std::string& name_or_path, std::string_view argument = "cpu");

/// The processor `here` as a description has it that begins with such a name or path, or with
/// "here", and goes on with what differs: "amd-zen4,cores=64,l1=32K,l2=1M,l3=32M". Its vector
/// target is among `targets`, which run here; where none of them is the file's, it is that of
/// `here`. Throws an Error that begins with `argument`.
CpuInfo described_cpu(const CpuInfo& here, std::string_view description,
                      const std::vector<std::string>& targets, std::string_view argument);

/// The processor that `text`, the contents of `file`, describes. Throws an Error that names the
/// file, the field, its value and the rule.
CpuFile parse_cpu_file(std::string_view text, std::string_view file);

/// The text of such a file, with all costs.
std::string to_json(const CpuFile& cpu);

}  // namespace cornerturn::plan
