#include "workshop/lab/convert.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/divide.hpp"
#include "core/refuse.hpp"
#include "cornerturn/error.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

struct Mode {
  const char* name;
  AnySwizzle of_bytes;
};
constexpr Mode modes[] = {
    {"none", {0, 0, 0}}, {"32B", {1, 4, 3}}, {"64B", {2, 4, 3}}, {"128B", {3, 4, 3}}};

std::vector<std::int64_t> numbers(std::string_view text, std::string_view whole) {
  std::vector<std::int64_t> result;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) {
      throw NotationError(whole, static_cast<std::size_t>(at - whole.data()), "a number expected");
    }
    result.push_back(value);
    if (next == end) return result;
    if (*next != ',') {
      throw NotationError(whole, static_cast<std::size_t>(next - whole.data()), "',' expected");
    }
    at = next + 1;
  }
}

}  // namespace

AnySwizzle to_bytes(const AnySwizzle& swizzle, int element_bytes) {
  if (swizzle.bits == 0) return {};
  return make_swizzle(swizzle.bits, swizzle.base + log2(element_bytes), swizzle.shift);
}

AnySwizzle to_elements(const AnySwizzle& of_bytes, int element_bytes) {
  if (of_bytes.bits == 0) return {};
  const int base = of_bytes.base - log2(element_bytes);
  if (base < 0) {
    refuse(fmt::format("{} of bytes moves pieces of {} B: elements of {} B would be torn apart",
                       to_string(of_bytes), 1 << of_bytes.base, element_bytes));
  }
  return {of_bytes.bits, base, of_bytes.shift};
}

std::optional<std::string> tma_mode(const AnySwizzle& of_bytes) {
  for (const Mode& mode : modes) {
    if (mode.of_bytes == of_bytes || (mode.of_bytes.bits == 0 && of_bytes.bits == 0)) {
      return mode.name;
    }
  }
  return std::nullopt;
}

AnySwizzle of_tma_mode(std::string_view name) {
  for (const Mode& mode : modes) {
    if (name == mode.name) return mode.of_bytes;
  }
  refuse(fmt::format("TMA's mode '{}' is none of none, 32B, 64B and 128B", name));
}

AnySwizzle of_triton(const TritonSwizzle& triton, std::int64_t row_elements) {
  for (const auto& [what, value] :
       {std::pair{"vec", triton.vec}, std::pair{"per_phase", triton.per_phase},
        std::pair{"max_phase", triton.max_phase}, std::pair{"the row", row_elements}}) {
    if (!is_power_of_two(value)) refuse(fmt::format("{} = {} is no power of two", what, value));
  }
  if (triton.max_phase == 1) return {};
  if (triton.vec * triton.max_phase > row_elements) {
    refuse(fmt::format("vec = {} and max_phase = {}: a row of {} elements has only {} chunks",
                       triton.vec, triton.max_phase, row_elements, row_elements / triton.vec));
  }
  const int base = log2(triton.vec);
  return make_swizzle(log2(triton.max_phase), base,
                      log2(row_elements) + log2(triton.per_phase) - base);
}

TritonAnswer to_triton(const AnySwizzle& swizzle, std::int64_t row_elements) {
  if (swizzle.bits == 0) return {TritonSwizzle{}, {}};
  if (!is_power_of_two(row_elements)) {
    return {{}, fmt::format("a row of {} elements is no power of two", row_elements)};
  }
  const int row = log2(row_elements);
  if (swizzle.base + swizzle.bits > row) {
    return {{},
            fmt::format("{} changes bits above the {} of a row's column", to_string(swizzle), row)};
  }
  if (swizzle.shift < 0 || swizzle.base + swizzle.shift < row) {
    return {{},
            fmt::format("{} xors the column with bits of the column itself, Triton only with "
                        "the row",
                        to_string(swizzle))};
  }
  return {TritonSwizzle{std::int64_t{1} << swizzle.base,
                        std::int64_t{1} << (swizzle.base + swizzle.shift - row),
                        std::int64_t{1} << swizzle.bits},
          {}};
}

AnySwizzle parse_any_swizzle(std::string_view text, int element_bytes, std::int64_t row_elements) {
  if (text.substr(0, 6) == "bytes:") return parse_swizzle(text.substr(6));
  if (text.substr(0, 4) == "tma:") return of_tma_mode(text.substr(4));
  if (text.substr(0, 7) == "triton:") {
    const std::vector<std::int64_t> n = numbers(text.substr(7), text);
    if (n.size() != 3) refuse(fmt::format("'{}': vec, per_phase and max_phase are three", text));
    if (row_elements == 0)
      refuse(fmt::format("'{}': Triton's numbers need the elements of a row", text));
    return to_bytes(of_triton({n[0], n[1], n[2]}, row_elements), element_bytes);
  }
  return to_bytes(parse_swizzle(text), element_bytes);
}

Conversion convert(const AnySwizzle& of_bytes, int element_bytes, std::int64_t row_bytes) {
  Conversion result;
  result.element_bytes = element_bytes;
  result.of_bytes = of_bytes;
  result.tma = tma_mode(of_bytes);
  if (of_bytes.bits == 0 || of_bytes.base >= log2(element_bytes)) {
    result.cute = to_elements(of_bytes, element_bytes);
  }
  if (row_bytes == 0) {
    result.triton.why_not = "the row's length is not given";
  } else if (row_bytes % element_bytes != 0) {
    result.triton.why_not = fmt::format("a row of {} B is no whole number of elements", row_bytes);
  } else if (result.cute) {
    result.row_elements = row_bytes / element_bytes;
    result.triton = to_triton(*result.cute, result.row_elements);
  } else {
    result.triton.why_not = "it tears elements apart";
  }
  return result;
}

std::string Conversion::to_text() const {
  std::string out = fmt::format("{} B  ", element_bytes);
  out +=
      fmt::format("CuTe {:<16}", cute ? cornerturn::to_string(*cute) : std::string("torn apart"));
  out += fmt::format("  bytes {:<16}", cornerturn::to_string(of_bytes));
  if (triton.swizzle) {
    const TritonSwizzle& t = *triton.swizzle;
    out +=
        fmt::format("  Triton vec={}, per_phase={}, max_phase={}", t.vec, t.per_phase, t.max_phase);
  } else {
    out += fmt::format("  Triton: no ({})", triton.why_not);
  }
  return out + fmt::format("  TMA {}\n", tma.value_or("has no such mode"));
}

std::string Conversion::to_json() const {
  nlohmann::ordered_json out = {{"element_bytes", element_bytes},
                                {"bytes", cornerturn::to_string(of_bytes)}};
  if (row_elements > 0) out["row_elements"] = row_elements;
  out["cute"] = cute ? nlohmann::ordered_json(cornerturn::to_string(*cute)) : nullptr;
  if (triton.swizzle) {
    out["triton"] = {{"vec", triton.swizzle->vec},
                     {"per_phase", triton.swizzle->per_phase},
                     {"max_phase", triton.swizzle->max_phase}};
  } else {
    out["triton"] = nullptr;
    out["triton_why_not"] = triton.why_not;
  }
  out["tma"] = tma ? nlohmann::ordered_json(*tma) : nullptr;
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn::lab
