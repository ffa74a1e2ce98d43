#include "plan/cpu/cpu_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "plan/cpu/costs.hpp"

namespace cornerturn::plan {
namespace {

using Json = nlohmann::ordered_json;

class CpuFileReader {
 public:
  CpuFileReader(std::string_view text, std::string_view file) : file_(file) {
    if (text.empty()) refuse("is empty");
    try {
      json_ = Json::parse(text);
    } catch (const Json::parse_error& error) {
      refuse(fmt::format("is no JSON: byte {} breaks its syntax", error.byte));
    } catch (const Json::exception& error) {  // a number that no double holds
      refuse(fmt::format("is no JSON: {}", error.what()));
    }
    if (!json_.is_object()) refuse("holds no JSON object");
  }

  CpuFile read() const {
    for (const auto& [key, value] : json_.items()) {
      if (key != "name" && key != "models" && key != "family" && key != "isa" && key != "note" &&
          key != "costs") {
        refuse(fmt::format(
            "has the field '{}', which is none of name, models, family, isa, note, costs",
            key.substr(0, 60)));
      }
    }
    CpuFile cpu;
    cpu.name = text("name");
    cpu.isa = text("isa");
    if (json_.contains("note")) cpu.note = text("note");
    const Json& models = field("models");
    const auto is_text = [](const Json& model) { return model.is_string(); };
    if (!models.is_array() || models.empty() ||
        !std::all_of(models.begin(), models.end(), is_text)) {
      refuse_value("models", models, "must be a list of texts, of one at least");
    }
    cpu.models = models.get<std::vector<std::string>>();
    if (json_.contains("family")) cpu.family = family(json_["family"]);
    const Json& costs = field("costs");
    if (!costs.is_object()) refuse_value("costs", costs, "must be an object");
    CpuCosts read;
    for (const auto& [name, value] : costs.items()) read_cost(name, value, read);
    cpu.costs = std::make_shared<const CpuCosts>(std::move(read));
    return cpu;
  }

 private:
  [[noreturn]] void refuse(const std::string& rule) const {
    throw Error(Status::invalid_argument, fmt::format("CPU file '{}' {}", file_, rule));
  }
  [[noreturn]] void refuse_value(const std::string& name, const Json& value,
                                 const std::string& rule) const {
    const std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    throw Error(Status::invalid_argument,
                fmt::format("CPU file '{}': {} = {} {}", file_, name, shown.substr(0, 60), rule));
  }

  const Json& field(const char* name) const {
    if (!json_.contains(name)) refuse(fmt::format("has no field '{}'", name));
    return json_[name];
  }

  std::string text(const char* name) const {
    const Json& value = field(name);
    if (!value.is_string()) refuse_value(name, value, "must be a text");
    return value.get<std::string>();
  }

  int family(const Json& value) const {
    if (!value.is_number_integer() || value < 1 || value > 1000) {
      refuse_value("family", value, "must be a whole number, 1 to 1000");
    }
    return value.get<int>();
  }

  void read_cost(const std::string& name, const Json& value, CpuCosts& costs) const {
    const std::vector<CpuCosts::Named> known = costs.named();
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const CpuCosts::Named& one) { return one.name == name; });
    if (found == known.end()) refuse(fmt::format("has the cost '{}', which no kernel has", name));
    // Costs are divided by, and their logarithms taken.
    if (!value.is_number() || !(value.get<double>() > 0 && value.get<double>() <= 1e9)) {
      refuse_value(name, value, "must be a number above 0, up to 1e9");
    }
    found->cost->value = value.get<double>();
  }

  std::string file_;
  Json json_;
};

// One word of what differs: "l2=1M".
void differ(CpuInfo& cpu, std::string_view word, std::string_view argument) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(std::min(equals + 1, word.size()));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : 0;
  const bool cores = name == "cores";
  const bool cache = name == "l1" || name == "l2" || name == "l3";
  const std::int64_t most = cores ? 1 << 16 : (std::int64_t{1} << 40) >> shift;
  if (!(cores || cache) || error != std::errc() || (!unit.empty() && (cores || shift == 0)) ||
      number < 1 || number > most) {
    throw Error(Status::invalid_argument,
                fmt::format("{}: '{}' is none of cores=NUMBER, l1=BYTES, l2=BYTES, l3=BYTES, where "
                            "BYTES may end in K or M",
                            argument, word));
  }
  if (cores) cpu.cores = static_cast<int>(number);
  if (name == "l1") cpu.l1_bytes = number << shift;
  if (name == "l2") cpu.l2_bytes = number << shift;
  if (name == "l3") cpu.l3_bytes = number << shift;
}

}  // namespace

bool CpuFile::describes(const CpuInfo& cpu) const {
  const auto names = [&](const std::string& part) {
    return cpu.model.find(part) != std::string::npos;
  };
  return cpu.isa.starts_with(isa) && (family == 0 || cpu.family == family) &&
         std::any_of(models.begin(), models.end(), names);
}

CpuFile parse_cpu_file(std::string_view text, std::string_view file) {
  return CpuFileReader(text, file).read();
}

const std::vector<CpuFile>& known_cpus() {
  static const auto& cpus = *[] {
    auto* list = new std::vector<CpuFile>;
    for (const EmbeddedCpu& cpu : embedded_cpus()) {
      list->push_back(parse_cpu_file(cpu.text, fmt::format("{}.json", cpu.name)));
    }
    return list;
  }();
  return cpus;
}

std::shared_ptr<const CpuCosts> costs_of(const CpuInfo& cpu) {
  const CpuFile* found = nullptr;
  for (const CpuFile& file : known_cpus()) {
    if (file.describes(cpu) && (found == nullptr || (found->family == 0 && file.family != 0))) {
      found = &file;
    }
  }
  return found == nullptr ? standard_cpu_costs() : found->costs;
}

CpuFile cpu_file_named(const std::string& name_or_path, std::string_view argument) {
  std::string names;
  for (std::size_t i = 0; i < embedded_cpus().size(); ++i) {
    const std::string_view name = embedded_cpus()[i].name;
    if (name_or_path == name) return known_cpus()[i];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(".json")) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = '{}' is no described CPU: use one of {}, or a JSON file",
                            argument, name_or_path, names));
  }
  return parse_cpu_file(files::read_text(name_or_path, std::string(argument)), name_or_path);
}

CpuInfo described_cpu(const CpuInfo& here, std::string_view description,
                      const std::vector<std::string>& targets, std::string_view argument) {
  CpuInfo cpu = here;
  const std::size_t comma = std::min(description.find(','), description.size());
  const std::string name(description.substr(0, comma));
  if (name != "here") {
    const CpuFile file = cpu_file_named(name, argument);
    cpu.model = file.name;
    cpu.family = file.family;
    cpu.costs = file.costs;
    const auto target = std::find_if(targets.begin(), targets.end(), [&](const std::string& one) {
      return one.starts_with(file.isa);
    });
    if (target != targets.end()) cpu.isa = *target;
  }
  std::string_view rest = description.substr(comma);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size());
    differ(cpu, word, argument);
  }
  if (cpu.l1_bytes > cpu.l2_bytes || cpu.l2_bytes > cpu.l3_bytes) {
    throw Error(
        Status::invalid_argument,
        fmt::format("{} = '{}' has caches of {}, {} and {} bytes: each is at least as large "
                    "as the one before",
                    argument, description, cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes));
  }
  return cpu;
}

std::string to_json(const CpuFile& cpu) {
  Json costs = Json::object();
  CpuCosts all = *cpu.costs;
  for (const auto& [name, cost] : all.named()) costs[name] = cost->value;
  Json json = {{"name", cpu.name}, {"models", cpu.models}};
  if (cpu.family != 0) json["family"] = cpu.family;
  json["isa"] = cpu.isa;
  if (!cpu.note.empty()) json["note"] = cpu.note;
  json["costs"] = costs;
  return json.dump(2) + "\n";
}

}  // namespace cornerturn::plan
