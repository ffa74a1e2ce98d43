#include "planning/value_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <utility>

#include "core/blocks.hpp"
#include "core/divide.hpp"
#include "cornerturn/error.hpp"
#include "values/blocks.hpp"

namespace cornerturn::bench {
namespace {

constexpr std::string_view prefix = "values:";
constexpr std::int64_t of_block = values::block_size;

// What follows the prefix: two numbers.
std::pair<std::int64_t, std::uint32_t> numbers_of(const std::string& suite) {
  std::int64_t count = 0;
  std::uint32_t seed = 0;
  const char* const end = suite.data() + suite.size();
  const auto first = std::from_chars(suite.data() + prefix.size(), end, count);
  const bool colon = first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
  const auto second = std::from_chars(colon ? first.ptr + 1 : end, end, seed);
  if (!colon || second.ec != std::errc() || second.ptr != end || count < 1 || count > 100000) {
    throw Error(Status::invalid_argument,
                fmt::format("suite = '{}' has to be values:COUNT:SEED, with 1 to 100000 cases and "
                            "a seed below 2^32",
                            suite));
  }
  return {count, seed};
}

// Matrices of plain values that follow each other.
struct Stack {
  std::int64_t batches = 1, rows = 1, cols = 1;
  std::int64_t gap = 0;  ///< elements between rows

  Extents shape() const { return {batches, rows, cols}; }
  Extents strides(std::int64_t size) const {
    const std::int64_t pitch = (cols + gap) * size;
    return {rows * pitch, pitch, size};
  }
  std::int64_t bytes(std::int64_t size) const { return batches * rows * (cols + gap) * size; }
};

// Draws one case. The standard's engines give the same numbers everywhere, its distributions do
// not.
class ValueCaseMaker {
 public:
  ValueCaseMaker(std::uint32_t seed, std::int64_t number) {
    std::seed_seq seeds{seed, static_cast<std::uint32_t>(number), 0x51edU};
    random_.seed(seeds);
  }

  ValueCase make() {
    static constexpr Kind kinds[] = {Kind::f32, Kind::f16, Kind::bf16};
    const Kind kind = kinds[below(3)];
    return below(3) == 0 ? reduction(below(5) == 0 ? Kind::i8 : kind) : blocks(kind);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t log_uniform(double least, double most) {
    const double unit = static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::llround(least * std::pow(std::max(most / least, 1.0), unit));
  }

  Stack stack(std::int64_t size) {
    const std::int64_t elements = log_uniform(0x1p20, 0x1p28) / size;
    Stack s;
    if (below(5) < 2) s.batches = 2 + below(15);
    const double matrix = static_cast<double>(elements) / static_cast<double>(s.batches);
    s.rows = log_uniform(32, matrix / 32);
    s.cols = std::max<std::int64_t>(32, std::llround(matrix / static_cast<double>(s.rows)));
    return s;
  }

  ValueCase reduction(Kind kind) {
    const std::int64_t size = ElementType(kind).size();
    Stack s = stack(size);
    if (below(3) == 0) {  // rows that are too short for vectors
      s.rows = s.rows * s.cols / 12;
      s.cols = 12 / size + 1;
    }
    if (below(2) == 0) s.gap = 1 + below(33);
    ValueCase c;
    c.group = "amax";
    c.text = fmt::format("amax of {} [{}, {}, {}], {} between rows", ElementType(kind).name(),
                         s.batches, s.rows, s.cols, s.gap);
    c.problem = reduce_problem(ElementType(kind), s.shape(), s.strides(size));
    c.element_bytes = static_cast<int>(size);
    c.src_bytes = s.bytes(size);
    c.dst_bytes = 64 << 10;
    return c;
  }

  ValueCase blocks(Kind kind) {
    const std::int64_t size = ElementType(kind).size();
    const bool q8 = below(2) == 0, back = below(2) == 0;
    const bool both = !q8 && !back && below(3) == 0;
    const bool transposed = below(2) == 0;
    Stack s = stack(size);
    const auto whole = [](std::int64_t n) { return ceil_div(n, of_block) * of_block; };
    // The other mode may be any, and is then none for the kernels of matrices.
    const bool odd = !both && below(4) == 0;
    if (!odd || transposed) s.rows = whole(s.rows);
    if (!odd || !transposed) s.cols = whole(s.cols);
    BlockRule rule;
    if (!q8) rule.format = BlockFormat::mxfp8_e4m3;
    Blocks made{rule, back, layout(s, transposed && !both, q8), {}};
    if (both) made.second = layout(s, true, q8);
    ValueCase c;
    c.group = back ? "dequantise" : "quantise";
    c.text = fmt::format("{} {} [{}, {}, {}] {} {}, blocks {}", c.group, ElementType(kind).name(),
                         s.batches, s.rows, s.cols, back ? "from" : "to", q8 ? "q8_0" : "mxfp8",
                         both         ? "both ways"
                         : transposed ? "along columns"
                                      : "along rows");
    c.problem = block_problem(ElementType(kind), s.shape(), s.strides(size), made);
    c.element_bytes = static_cast<int>(size);
    const std::int64_t end = place_blocks(c, s.batches * s.rows * s.cols, q8, both);
    c.src_bytes = back ? end : s.bytes(size);
    c.dst_bytes = back ? s.bytes(size) : end;
    return c;
  }

  // Says where the arrays of blocks of so many values lie, and returns the end of the last one.
  static std::int64_t place_blocks(ValueCase& c, std::int64_t elements, bool q8, bool both) {
    const std::int64_t codes = q8 ? elements / of_block * 34 : elements;
    const auto aligned = [](std::int64_t at) { return ceil_div(at, std::int64_t{256}) * 256; };
    c.scales_at = aligned(codes);
    const std::int64_t end = q8 ? codes : c.scales_at + elements / of_block;
    if (!both) return end;
    c.second_at = aligned(end);
    c.second_scales_at = aligned(c.second_at + codes);
    return c.second_scales_at + elements / of_block;
  }

  // Packed blocks, line by line: of columns or of rows.
  static BlockLayout layout(const Stack& s, bool transposed, bool q8) {
    const std::int64_t length = transposed ? s.rows : s.cols;
    const std::int64_t lines = transposed ? s.cols : s.rows;
    const std::int64_t line = q8 ? length / of_block * 34 : length;
    BlockLayout to{2, {lines * line, line, q8 ? 34 : 1}, {}};
    if (!q8) to.scale_strides = {lines * length / of_block, length / of_block, 1};
    if (!transposed) return to;
    to.axis = 1;
    std::swap(to.value_strides[1], to.value_strides[2]);
    if (!q8) std::swap(to.scale_strides[1], to.scale_strides[2]);
    return to;
  }

  std::mt19937_64 random_;
};

}  // namespace

bool is_value_suite(std::string_view suite) {
  return suite.starts_with(prefix);
}

std::vector<ValueCase> value_cases(const std::string& suite) {
  const auto [count, seed] = numbers_of(suite);
  std::vector<ValueCase> cases;
  for (std::int64_t i = 0; i < count; ++i) {
    cases.push_back(ValueCaseMaker(seed, i).make());
    cases.back().name = fmt::format("v{}n{}", seed, i);
  }
  return cases;
}

}  // namespace cornerturn::bench
