#include "support/conversion.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>

#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "plan/planner.hpp"
#include "support/byte_order.hpp"
#include "support/without_caches.hpp"
#include "values/epilogue.hpp"

namespace cornerturn::test {
namespace {

constexpr std::array kinds = {Kind::boolean, Kind::i8,  Kind::i16, Kind::i32,     Kind::i64,
                              Kind::u8,      Kind::u16, Kind::u32, Kind::u64,     Kind::f16,
                              Kind::bf16,    Kind::f32, Kind::f64, Kind::f8_e4m3, Kind::f8_e5m2,
                              Kind::c64,     Kind::c128};

bool is_complex(ElementType type) {
  return type.kind() == Kind::c64 || type.kind() == Kind::c128;
}

ElementType random_type(RandomProblems& random) {
  // The types of inference engines more often than the others.
  constexpr std::array usual = {Kind::f32, Kind::f16, Kind::bf16, Kind::f8_e4m3, Kind::i8};
  const Kind kind = random.chance(0.5)
                        ? usual[static_cast<std::size_t>(random.uniform(0, 4))]
                        : kinds[static_cast<std::size_t>(random.uniform(0, kinds.size() - 1))];
  return random.chance(0.2) ? ElementType(kind).swapped() : ElementType(kind);
}

void add_vector(RandomProblems& random, const Problem& problem, ModeVector& vector,
                std::vector<float>& data) {
  if (!random.chance(0.3)) return;
  vector.present = true;
  vector.mode = static_cast<int>(random.uniform(-1, problem.rank() - 1));
  const std::int64_t length = vector.mode < 0 ? 1 : problem.modes[vector.mode].extent;
  data.resize(static_cast<std::size_t>(length));
  for (float& value : data) value = static_cast<float>(random.uniform(-400, 400)) / 16;
}

float value_of(const ModeVector& vector, const float* data,
               const std::vector<std::int64_t>& index) {
  if (!vector.present) return 0;
  const std::int64_t i = vector.mode < 0 ? 0 : index[static_cast<std::size_t>(vector.mode)];
  return data[vector.first + vector.step * i];
}

template <class D, class S>
void convert_modes(const ConversionCase& c, int mode, std::vector<std::int64_t>& index,
                   const std::byte* src, std::byte* dst, const std::byte* lowest) {
  const Problem& problem = c.problem;
  if (mode == problem.rank()) {
    const values::Conversion<D, S> conversion(problem.values, problem.scale.present,
                                              problem.bias.present);
    const auto place = static_cast<std::uint64_t>((dst - lowest) / std::ptrdiff_t{sizeof(D)});
    const D result = conversion(
        loaded_in_order<S>(problem.src_type, src), value_of(problem.scale, c.scale.data(), index),
        value_of(problem.bias, c.bias.data(), index), loaded_in_order<D>(problem.dst_type, dst),
        place + static_cast<std::uint64_t>(problem.values.place));
    store_in_order(problem.dst_type, result, dst);
    return;
  }
  const Mode& m = problem.modes[mode];
  for (std::int64_t i = 0; i < m.extent; ++i) {
    index[static_cast<std::size_t>(mode)] = i;
    convert_modes<D, S>(c, mode + 1, index, src + i * m.src_stride, dst + i * m.dst_stride, lowest);
  }
}

}  // namespace

ConversionCase random_conversion(RandomProblems& random) {
  ConversionCase c;
  Problem& problem = c.problem;
  problem = random.next();
  const int size = problem.src_type.size();
  problem.src_type = random_type(random);
  do {
    problem.dst_type = random_type(random);
  } while (is_complex(problem.src_type) && !is_complex(problem.dst_type));
  for (Mode& mode : problem.modes) {
    mode.src_stride = mode.src_stride / size * problem.src_type.size();
    mode.dst_stride = mode.dst_stride / size * problem.dst_type.size();
  }
  add_vector(random, problem, problem.scale, c.scale);
  add_vector(random, problem, problem.bias, c.bias);
  Values& values = problem.values;
  if (random.chance(0.3)) values.alpha = 0.25 * static_cast<double>(random.uniform(-9, 9));
  if (random.chance(0.2)) values.beta = 0.5 * static_cast<double>(random.uniform(-3, 3));
  values.conjugate = is_complex(problem.src_type) && random.chance(0.4);
  if (random.chance(0.3)) values.overflow = Overflow::saturate;
  if (random.chance(0.3)) {
    values.rounding = Rounding::stochastic;
    values.seed = static_cast<std::uint64_t>(random.uniform(0, 1 << 30));
    values.place = random.chance(0.3) ? random.uniform(0, std::int64_t{1} << 40) : 0;
  }
  if (!problem.converts()) values.alpha = -1;
  const bool only_swapped = problem.src_type.kind() == problem.dst_type.kind() &&
                            values.alpha == 1 && values.beta == 0 && !values.conjugate &&
                            !problem.scale.present && !problem.bias.present;
  if (only_swapped) values = {};  // as make_problem() has it
  return c;
}

void reference_convert(const ConversionCase& c, const std::byte* src, std::byte* dst) {
  const Problem& problem = c.problem;
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem.rank()));
  values::with_kind(problem.dst_type.kind(), [&](auto d) {
    values::with_kind(problem.src_type.kind(), [&](auto s) {
      using D = typename decltype(d)::type;
      using S = typename decltype(s)::type;
      if constexpr (values::converts<D, S>) {
        convert_modes<D, S>(c, 0, index, src + problem.src_offset, dst + problem.dst_offset,
                            dst + dst_reach(problem).low);
      }
    });
  });
}

ConversionRunner::ConversionRunner(std::size_t capacity)
    : src_(capacity), dst_(capacity), expected_(capacity), before_(capacity) {
  std::mt19937_64 random(1);
  std::byte* bytes = src_.place(src_.capacity(), GuardedBuffer::Touching::front);
  for (std::size_t i = 0; i + 8 <= src_.capacity(); i += 8) {
    // Some ordinary numbers of f32, and anything else.
    std::uint64_t value = random();
    if (i % 64 < 24) {
      const float ordinary[2] = {static_cast<float>(value % 1000) / 7 - 70,
                                 static_cast<float>(value % 77777) / 7 - 5555};
      std::memcpy(&value, ordinary, sizeof value);
    }
    std::memcpy(bytes + i, &value, sizeof value);
  }
  for (std::byte& byte : before_) byte = static_cast<std::byte>(random());
}

bool ConversionRunner::holds(const ConversionCase& c) const {
  const Reach from = src_reach(c.problem);
  const Reach to = dst_reach(c.problem);
  return static_cast<std::size_t>(from.high - from.low) <= src_.capacity() &&
         static_cast<std::size_t>(to.high - to.low) <= dst_.capacity();
}

std::string ConversionRunner::run_on(const plan::Machine& machine, const ConversionCase& c,
                                     int threads, GuardedBuffer::Touching touching) {
  const Problem& problem = c.problem;
  const Reach from = src_reach(problem);
  const Reach to = dst_reach(problem);
  const auto src_bytes = static_cast<std::size_t>(from.high - from.low);
  const auto dst_bytes = static_cast<std::size_t>(to.high - to.low);
  if (!holds(c)) {
    return "the case is larger than the buffers: " + to_string(problem);
  }
  const std::byte* src = src_.place(src_bytes, touching) - from.low;
  std::byte* dst = dst_.place(dst_bytes, touching);
  std::byte* expected = expected_.place(dst_bytes, touching);
  std::memcpy(expected, before_.data(), dst_bytes);
  reference_convert(c, src, expected - to.low);

  plan::Plan plan = plan::make_plan(problem, machine, {threads, ""});
  plan.threads = threads;
  for (const plan::Candidate& candidate : plan.candidates) {
    plan.chosen = candidate;
    std::memcpy(dst, before_.data(), dst_bytes);
    cpu::execute(plan, {dst - to.low, src, c.vectors()});
    for (std::size_t i = 0; i < dst_bytes; ++i) {
      if (dst[i] == expected[i]) continue;
      return fmt::format("byte {} of {} is {:#x}, not {:#x}\n  {}\n  normalised {}\n  by {} ({})",
                         i, dst_bytes, static_cast<int>(dst[i]), static_cast<int>(expected[i]),
                         to_string(problem), to_string(plan.normal), candidate.row->name,
                         plan::describe(candidate, plan.normal));
    }
  }
  return "";
}

std::string ConversionRunner::run_all(const ConversionCase& c, int threads) {
  for (const auto touching : {GuardedBuffer::Touching::front, GuardedBuffer::Touching::back}) {
    static const plan::Machine no_caches = without_caches();
    const bool as_large = ++runs_ % 4 >= 2;
    const std::string wrong = run_on(as_large ? no_caches : cpu::machine(), c, threads, touching);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace cornerturn::test
