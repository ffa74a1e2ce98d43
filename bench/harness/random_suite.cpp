#include "harness/random_suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "core/normalise.hpp"
#include "core/refuse.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::bench {
namespace {

constexpr std::string_view of_any = "random:";
constexpr std::string_view of_fields = "fields:";
constexpr std::int64_t most_of_structure = 512;  // bytes

std::string_view prefix_of(Drawn drawn) {
  return drawn == Drawn::fields ? of_fields : of_any;
}

[[noreturn]] void reject(const std::string& name, const std::string& rule) {
  throw Error(Status::invalid_argument, fmt::format("suite = {}: {}", name, rule));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::int64_t number_in(const std::string& name, const std::string& text, const char* what,
                       std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    reject(name,
           fmt::format("{} = '{}' has to be a number from {} to {}", what, text, least, most));
  }
  return value;
}

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

// Draws one case. The standard's engines give the same numbers everywhere, its distributions do
// not, so these are its own.
class CaseMaker {
 public:
  CaseMaker(const RandomSpec& spec, std::int64_t number) : spec_(spec) {
    std::seed_seq seeds{static_cast<std::uint32_t>(spec.seed),
                        static_cast<std::uint32_t>(spec.seed >> 32),
                        static_cast<std::uint32_t>(number), 0x7a3dU};
    random_.seed(seeds);
  }

  Case make() { return spec_.drawn == Drawn::fields ? make_fields() : make_any(); }

 private:
  Case make_any() {
    Case c;
    c.element_bytes = element_bytes();
    aligned_ = below(3) == 0;
    const double least = std::log(static_cast<double>(spec_.min_bytes));
    const double most = std::log(static_cast<double>(spec_.max_bytes));
    const double bytes = std::exp(least + unit() * (most - least));
    const double elements = std::max(1.0, bytes / c.element_bytes);
    std::vector<std::int64_t> shape = extents(elements);  // in the source's order
    fit(shape, c.element_bytes);
    const std::vector<std::size_t> order = permutation(shape.size());
    std::vector<std::int64_t> src = strides(shape, c.element_bytes);
    if (below(12) == 0) broadcast(shape, src);
    for (const std::size_t axis : order) {
      c.shape.push_back(shape[axis]);
      c.src_strides.push_back(src[axis]);
    }
    c.dst_strides = strides(c.shape, c.element_bytes);
    if (below(8) == 0) flip(c.shape, c.src_strides, c.src_offset);
    if (below(6) == 0) c.src_offset += below(40);
    if (below(6) == 0) c.dst_offset += below(40);
    return c;
  }

  Case make_fields() {
    Case c;
    c.element_bytes = element_bytes();
    aligned_ = below(3) == 0;
    const std::int64_t most = std::max<std::int64_t>(2, most_of_structure / c.element_bytes);
    const std::int64_t structure = 1 + extent_near(log_uniform(1, static_cast<double>(most - 1)));
    const std::int64_t fields = std::llround(
        log_uniform(1, static_cast<double>(std::min<std::int64_t>(16, structure - 1))));
    // Both what is moved and what the structures take are within the bounds.
    const std::int64_t first = below(structure - fields + 1);
    const auto least = static_cast<double>(spec_.min_bytes) / static_cast<double>(fields);
    const auto bytes = static_cast<double>(spec_.max_bytes) / static_cast<double>(structure);
    const double count = log_uniform(least, std::max(least, bytes)) / c.element_bytes;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(1 + below(3)));
    double left = std::max(count, 8.0);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shape[i] = extent_near(std::pow(left, 1 / static_cast<double>(shape.size() - i)));
      left = std::max(2.0, left / static_cast<double>(shape[i]));
    }
    c.shape = shape;
    c.shape.push_back(fields);
    Extents structures(c.shape.size(), 1), packed(c.shape.size(), 1);
    std::int64_t stride = structure, held = fields;
    for (std::size_t i = shape.size(); i-- > 0;) {
      structures[i] = stride;
      packed[i] = held;
      stride *= shape[i];
      held *= shape[i];
    }
    c.src_strides = structures;
    c.src_offset = first;
    c.dst_strides = packed;
    const bool stay = below(5) == 0;
    if (!stay) {  // an array a field: the fields are the slowest axis
      std::rotate(c.shape.begin(), c.shape.end() - 1, c.shape.end());
      std::rotate(c.src_strides.begin(), c.src_strides.end() - 1, c.src_strides.end());
      c.dst_strides = strides(c.shape, c.element_bytes);
    }
    const bool back = below(4) == 0;
    if (back) {
      std::swap(c.src_strides, c.dst_strides);
      std::swap(c.src_offset, c.dst_offset);
    }
    c.group = stay ? (back ? "packed-to-fields" : "fields-to-packed")
                   : (back ? "arrays-to-fields" : "fields-to-arrays");
    return c;
  }

  double log_uniform(double least, double most) { return least * std::pow(most / least, unit()); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  int element_bytes() {
    if (!spec_.element_bytes.empty()) {
      return spec_.element_bytes[static_cast<std::size_t>(
          below(static_cast<std::int64_t>(spec_.element_bytes.size())))];
    }
    const std::int64_t draw = below(10);
    if (draw < 8) return 1 << below(4);
    return draw == 8 ? 16 : static_cast<int>(3 + below(22));
  }

  int rank() {
    const std::int64_t draw = below(10);
    if (draw < 3) return 2;
    if (draw < 8) return static_cast<int>(3 + below(3));
    return static_cast<int>(6 + below(7));
  }

  // A number near `about`, of the kind that people's extents and cache sets are.
  std::int64_t extent_near(double about) {
    const auto n = std::max<std::int64_t>(2, std::llround(about));
    if (aligned_ && n >= 16) return n / 16 * 16;
    const std::int64_t power = std::int64_t{1} << std::max(1, std::ilogb(static_cast<double>(n)));
    switch (below(6)) {
      case 0:
        return power;
      case 1:
        return std::max<std::int64_t>(2, power + (below(2) == 0 ? 1 : -1));
      case 2: {
        std::int64_t prime = n;
        while (!is_prime(prime)) ++prime;
        return prime;
      }
      case 3:
        return n < 32 ? n : n / 16 * 16;
      default:
        return n;
    }
  }

  std::vector<std::int64_t> extents(double elements) {
    const auto modes = static_cast<std::size_t>(
        std::min<double>(rank(), std::max(2.0, std::floor(std::log2(elements)))));
    // Shares of the logarithm; a few modes are tiny, so that others are long beside them.
    std::vector<double> shares(modes);
    const bool tiny = below(4) == 0;
    double all = 0;
    for (double& share : shares) all += share = 0.15 + unit();
    std::vector<std::int64_t> shape(modes);
    double left = std::log(elements);
    for (std::size_t i = 0; i < modes; ++i) {
      if (tiny && i + 1 < modes && below(2) == 0) {
        shape[i] = 2 + below(7);
        left -= std::log(static_cast<double>(shape[i]));
        all -= shares[i];
        shares[i] = 0;
      }
    }
    for (std::size_t i = 0; i < modes; ++i) {
      if (shares[i] > 0) shape[i] = extent_near(std::exp(std::max(left, 0.0) * shares[i] / all));
    }
    for (std::size_t i = modes; i > 1; --i) {
      std::swap(shape[i - 1], shape[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
    return shape;
  }

  // Rounding may leave the bounds: the longest modes make up for it.
  void fit(std::vector<std::int64_t>& shape, int element_bytes) const {
    const auto bytes = [&] {
      double product = element_bytes;
      for (const std::int64_t extent : shape) product *= static_cast<double>(extent);
      return product;
    };
    const auto scale = [&](std::int64_t bound) {
      std::int64_t& longest = *std::max_element(shape.begin(), shape.end());
      const double exact = static_cast<double>(longest) * (static_cast<double>(bound) / bytes());
      longest = std::max<std::int64_t>(2, static_cast<std::int64_t>(exact));
      return longest > 2;
    };
    while (bytes() > static_cast<double>(spec_.max_bytes)) {
      if (!scale(spec_.max_bytes) && shape.size() > 2) shape.pop_back();
    }
    if (bytes() < static_cast<double>(spec_.min_bytes)) {
      scale(spec_.min_bytes);
      ++*std::max_element(shape.begin(), shape.end());
    }
  }

  // Any but the one that changes nothing; one in four keeps the fastest axis where it is.
  std::vector<std::size_t> permutation(std::size_t rank) {
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t moved = rank > 2 && below(4) == 0 ? rank - 1 : rank;
    do {
      for (std::size_t i = moved; i > 1; --i) {
        std::swap(order[i - 1],
                  order[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
      }
    } while (std::is_sorted(order.begin(), order.end()));
    return order;
  }

  // Packed two times in three; else one axis has room behind it: a padded row, or a window.
  std::vector<std::int64_t> strides(const std::vector<std::int64_t>& shape, int element_bytes) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t padded = below(3) == 0 ? below(rank) : rank;
    std::vector<std::int64_t> out(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      out[i] = stride;
      std::int64_t extent = shape[i];
      if (static_cast<std::int64_t>(i) == padded && extent > 4) {
        const std::int64_t aligned = std::max<std::int64_t>(1, 64 / element_bytes);
        switch (below(3)) {
          case 0:
            extent += 1 + below(std::min<std::int64_t>(extent / 2, 16));
            break;
          case 1:
            extent = (extent + aligned) / aligned * aligned;
            break;
          default:
            extent += below(extent / 2) + 1;
        }
        extent = std::min(extent, 2 * shape[i]);
      }
      stride *= extent;
    }
    return out;
  }

  void broadcast(const std::vector<std::int64_t>& shape, std::vector<std::int64_t>& src) {
    const auto axis = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape.size())));
    if (shape[axis] <= 64) src[axis] = 0;
  }

  void flip(const std::vector<std::int64_t>& shape, std::vector<std::int64_t>& src,
            std::int64_t& offset) {
    const auto axis = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape.size())));
    offset += (shape[axis] - 1) * src[axis];
    src[axis] = -src[axis];
  }

  const RandomSpec& spec_;
  std::mt19937_64 random_;
  bool aligned_ = false;  // all extents are multiples of 16 where they are as long as that
};

Problem normal_of(const Case& c) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(c.element_bytes);
  for (std::size_t i = 0; i < c.shape.size(); ++i) {
    problem.modes.push_back(
        {c.shape[i], c.src_strides[i] * c.element_bytes, c.dst_strides[i] * c.element_bytes});
  }
  return normalise(problem, {});
}

// Elements of `bytes` that lie side by side on one side, through all modes that continue them.
std::int64_t run_of(const Problem& normal, std::int64_t Mode::*stride) {
  std::int64_t run = normal.dst_type.size();
  for (bool grew = true; grew;) {
    grew = false;
    for (const Mode& mode : normal.modes) {
      if (mode.extent == 1 || std::abs(mode.*stride) != run) continue;
      run *= mode.extent;
      grew = true;
      break;
    }
  }
  return run;
}

}  // namespace

std::string name_of(const RandomSpec& spec) {
  return fmt::format("{}{}:{}:{}:{}:{}", prefix_of(spec.drawn), spec.count, spec.seed,
                     fmt::join(spec.element_bytes, "-"), spec.min_bytes, spec.max_bytes);
}

bool is_random(std::string_view name) {
  return name.starts_with(of_any) || name.starts_with(of_fields);
}

RandomSpec parse_random(const std::string& name) {
  RandomSpec spec;
  if (name.starts_with(of_fields)) spec.drawn = Drawn::fields;
  const std::vector<std::string> parts = split(name.substr(prefix_of(spec.drawn).size()), ':');
  if (parts.size() != 5) {
    reject(name,
           "the form is random:COUNT:SEED:SIZES:MIN:MAX, e.g. random:90:1:1-2-4-8:1000000:"
           "100000000, and SIZES may be empty; fields:... draws fields of structures");
  }
  spec.count = number_in(name, parts[0], "COUNT", 1, 1'000'000);
  spec.seed = static_cast<std::uint64_t>(number_in(name, parts[1], "SEED", 0, INT64_MAX));
  if (!parts[2].empty()) {
    for (const std::string& size : split(parts[2], '-')) {
      spec.element_bytes.push_back(static_cast<int>(number_in(name, size, "SIZES", 1, 256)));
    }
  }
  constexpr std::int64_t most = std::int64_t{1} << 46;
  spec.min_bytes = number_in(name, parts[3], "MIN", 1024, most);
  spec.max_bytes = number_in(name, parts[4], "MAX", spec.min_bytes, most);
  return spec;
}

Suite random_suite(const RandomSpec& spec) {
  Suite suite;
  suite.name = name_of(spec);
  suite.note = "Drawn at random.";
  for (std::int64_t i = 0; i < spec.count; ++i) {
    Case c = CaseMaker(spec, i).make();
    c.suite = suite.name;
    c.name = fmt::format("{}{}n{}", spec.drawn == Drawn::fields ? 'f' : 's', spec.seed, i);
    if (c.group.empty()) c.group = class_of(c);
    suite.cases.push_back(std::move(c));
  }
  return suite;
}

std::string class_of(const Case& c) {
  const Problem normal = normal_of(c);
  const std::int64_t element = c.element_bytes;
  if (normal.rank() <= 1) return "copy";
  const Mode& fastest = normal.modes.back();
  const std::int64_t width = normal.dst_type.size();
  std::int64_t kept = width;
  if (fastest.src_stride == width && fastest.dst_stride == width) kept *= fastest.extent;
  if (kept > element) return kept < 256 ? "short-rows" : "rows";
  if (std::min(run_of(normal, &Mode::src_stride), run_of(normal, &Mode::dst_stride)) <
      16 * element) {
    return "tiny-modes";
  }
  bool aligned = true;
  for (const Mode& mode : normal.modes) {
    for (const std::int64_t stride : {mode.src_stride, mode.dst_stride}) {
      aligned = aligned && (std::abs(stride) == width || stride % 16 == 0);
    }
  }
  return fmt::format("{}-{}", normal.rank() == 2 ? "matrix" : "rank3", aligned ? "aligned" : "odd");
}

std::string json_of(const Case& c) {
  nlohmann::ordered_json json;
  json["name"] = c.name;
  json["shape"] = c.shape;
  json["src_strides"] = c.src_strides;
  json["dst_strides"] = c.dst_strides;
  json["src_offset"] = c.src_offset;
  json["dst_offset"] = c.dst_offset;
  json["element_bytes"] = {c.element_bytes};
  json["class"] = {c.group};
  return json.dump();
}

}  // namespace cornerturn::bench
