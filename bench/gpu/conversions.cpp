// Measures conversions on the GPU that is here: transpositions that change the element type, those
// with a scale for each row or column, and quantisation to blocks of 32, each beside plain copies
// of the same bytes in the same round.
//
//   usage: bench_conversions [--json FILE] [--max-seconds N] [--all-candidates] [--only TEXT]...
//
// A plain copy reads and writes half of the bytes that the case reads and writes together. Two
// passes: our own transposition, then our own conversion of what is packed then. Results are
// compared with those of gather, bit by bit, in their first 256 MiB.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <tuple>
#include <vector>

#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "gpu/accelerator.hpp"
#include "harness/machine.hpp"
#include "harness/statistics.hpp"
#include "plan/planner.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;
using plan::Plan;

constexpr int rounds = 11;

Problem problem_of(const Case& c, Kind from, Kind to) {
  Problem problem;
  problem.src_type = ElementType(from);
  problem.dst_type = ElementType(to);
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    problem.modes.push_back({c.shape[k], c.src_strides[k] * problem.src_type.size(),
                             c.dst_strides[k] * problem.dst_type.size()});
  }
  problem.src_offset = c.src_offset * problem.src_type.size();
  problem.dst_offset = c.dst_offset * problem.dst_type.size();
  return problem;
}

// Bytes of the elements on both sides.
std::int64_t moved_bytes(const Problem& p) {
  return p.elements() * (p.src_type.size() + p.dst_type.size());
}

struct Timed {
  std::string name;
  std::function<void(const std::byte*, std::byte*)> run;
  double seconds = 0;
};

struct BlocksCase {
  const char* name;
  Kind kind;
  BlockRule rule;
  bool as_it_lies = false;
  bool transposed = false;
  bool back = false;
  std::int64_t rows = 16384;
  std::int64_t cols = 16384;

  ScaleOrder order = ScaleOrder::strided;

  std::string format_name() const {
    return name_of(rule.format) + (order == ScaleOrder::tiles_128x4 ? " 128x4" : "");
  }
};

// A matrix with a scale for each row or column of the source.
struct ScaledCase {
  const char* name;
  Kind from;
  Kind to;
  bool transposed = true;
  bool of_rows = true;
  std::int64_t rows = 16384;
  std::int64_t cols = 16384;

  Problem problem() const {
    Problem p;
    p.src_type = ElementType(from);
    p.dst_type = ElementType(to);
    const std::int64_t src = p.src_type.size(), dst = p.dst_type.size();
    p.modes = {{rows, cols * src, transposed ? dst : cols * dst},
               {cols, src, transposed ? rows * dst : dst}};
    p.scale = {true, of_rows ? 0 : 1, 1, 0};
    p.values.overflow = Overflow::saturate;
    return p;
  }
};

class Bench {
 public:
  explicit Bench(Accelerator& gpu)
      : gpu_(gpu), machine_(cuda::machine_of(cuda::current_device())) {}

  /// Times all in rounds over rotating buffers of so many bytes.
  void time(std::vector<Timed>& contestants, std::int64_t src_bytes, std::int64_t dst_bytes,
            int element_bytes) {
    const auto page = [](std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; };
    const std::int64_t src_step = page(src_bytes), dst_step = page(dst_bytes);
    const std::int64_t slots =
        std::clamp<std::int64_t>(8 * gpu_.cache_bytes() / (src_step + dst_step) + 1, 2, 64);
    gpu_.reserve(slots * src_step, slots * dst_step);
    gpu_.fill(gpu_.src(), slots * src_step, element_bytes);
    std::int64_t next = 0;
    std::vector<Work> works;
    works.reserve(contestants.size());
    for (Timed& one : contestants) {
      works.push_back([&] {
        const std::int64_t slot = next++ % slots;
        one.run(gpu_.src() + slot * src_step, gpu_.dst() + slot * dst_step);
      });
    }
    gpu_.time(works);
    std::vector<std::vector<double>> all(works.size());
    for (int round = 0; round < rounds; ++round) {
      const std::vector<double> seconds = gpu_.time(works);
      for (std::size_t i = 0; i < seconds.size(); ++i) all[i].push_back(seconds[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i) contestants[i].seconds = median(all[i]);
  }

  void add_copies(std::vector<Timed>& contestants, std::int64_t bytes) {
    const std::int64_t whole = (bytes + 4095) / 4096 * 4096;
    contestants.push_back({"memcpy", [this, bytes](const std::byte* s, std::byte* d) {
                             gpu_.copy_by_driver(d, s, bytes);
                           }});
    contestants.push_back({"memcpy_whole_pages", [this, whole](const std::byte* s, std::byte* d) {
                             gpu_.copy_by_driver(d, s, whole);
                           }});
    contestants.push_back({"vector_copy", [this, bytes](const std::byte* s, std::byte* d) {
                             gpu_.copy_by_kernel(d, s, bytes);
                           }});
  }

  std::function<void(const std::byte*, std::byte*)> of_plan(const Plan& plan) {
    return [this, plan](const std::byte* s, std::byte* d) {
      cuda::execute(plan, {d, s}, static_cast<cuda::Stream>(gpu_.stream()));
    };
  }

  void add_candidates(std::vector<Timed>& contestants, const Plan& plan) {
    for (const plan::Candidate& candidate : plan.candidates) {
      if (candidate.row->name == std::string_view("gather") && plan.candidates.size() > 1) {
        continue;
      }
      Plan other = plan;
      other.choose(candidate, plan::Choice::forced);
      contestants.push_back(
          {fmt::format("{}: {}", candidate.row->name, describe(candidate, plan.normal)),
           of_plan(other)});
    }
  }

  static double copy_seconds(const std::vector<Timed>& contestants) {
    double best = 1e300;
    for (const Timed& one : contestants) {
      if (one.name == "memcpy" || one.name == "memcpy_whole_pages" || one.name == "vector_copy") {
        best = std::min(best, one.seconds);
      }
    }
    return best;
  }

  ordered_json conversion(const Case& c, Kind from, Kind to, bool all_candidates) {
    const Problem problem = problem_of(c, from, to);
    const std::int64_t half = moved_bytes(problem) / 2;
    Plan plan = plan::make_plan(problem, machine_);
    std::vector<Timed> contestants{{"cornerturn", of_plan(plan)}};
    add_copies(contestants, half);
    // Two passes: bytes first, then values where they lie.
    Problem moved = problem_of(c, from, from);
    Problem cast;
    cast.src_type = problem.src_type;
    cast.dst_type = problem.dst_type;
    cast.modes = {{problem.elements(), problem.src_type.size(), problem.dst_type.size()}};
    const cuda::DeviceBuffer between(c.elements() * problem.src_type.size() * 2);
    const Plan first = make_plan(moved, machine_);
    const Plan second = make_plan(cast, machine_);
    const bool packed = c.dst_span_bytes() == c.payload_bytes();
    if (packed) {
      contestants.push_back({"two_passes", [&](const std::byte* s, std::byte* d) {
                               of_plan(first)(s, between.get());
                               of_plan(second)(between.get(), d);
                             }});
    }
    const std::size_t candidates_at = contestants.size();
    if (all_candidates) add_candidates(contestants, plan);
    const std::int64_t spans = c.src_span_bytes() / c.element_bytes;
    const std::int64_t dst_spans = c.dst_span_bytes() / c.element_bytes;
    const std::int64_t src_bytes = std::max(spans * problem.src_type.size(), half);
    const std::int64_t dst_bytes = std::max(dst_spans * problem.dst_type.size(), half);
    time(contestants, src_bytes + 4096, dst_bytes + 4096, problem.src_type.size());
    const std::string wrong = difference(plan, dst_spans * problem.dst_type.size());
    ordered_json out = {{"case", c.name},
                        {"class", c.group},
                        {"from", problem.src_type.name()},
                        {"to", problem.dst_type.name()},
                        {"bytes_moved", 2 * half},
                        {"kernel", plan.kernel()},
                        {"plan", to_string(plan)},
                        {"right", wrong.empty()},
                        {"seconds", contestants[0].seconds},
                        {"copy_seconds", copy_seconds(contestants)},
                        {"share", copy_seconds(contestants) / contestants[0].seconds}};
    if (packed) out["two_passes_seconds"] = contestants[4].seconds;
    for (std::size_t i = candidates_at; i < contestants.size(); ++i) {
      out["candidates"].push_back(
          {{"name", contestants[i].name}, {"seconds", contestants[i].seconds}});
    }
    return out;
  }

  ordered_json scaled(const ScaledCase& c) {
    const Problem problem = c.problem();
    const std::int64_t half = moved_bytes(problem) / 2;
    const std::vector<float> numbers(static_cast<std::size_t>(std::max(c.rows, c.cols)), 0.37F);
    const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(float));
    const cuda::DeviceBuffer scale(bytes);
    cuda::check(cudaMemcpy(scale.get(), numbers.data(), static_cast<std::size_t>(bytes),
                           cudaMemcpyHostToDevice),
                "cudaMemcpy");
    const Vectors vectors{reinterpret_cast<const float*>(scale.get()), nullptr};
    const Plan plan = plan::make_plan(problem, machine_);
    std::vector<Timed> contestants{
        {"cornerturn", [&](const std::byte* s, std::byte* d) {
           cuda::execute(plan, {d, s, vectors}, static_cast<cuda::Stream>(gpu_.stream()));
         }}};
    add_copies(contestants, half);
    time(contestants, std::max(problem.elements() * problem.src_type.size(), half) + 4096,
         std::max(problem.bytes(), half) + 4096, problem.src_type.size());
    return {{"case", c.name},
            {"from", problem.src_type.name()},
            {"to", problem.dst_type.name()},
            {"shape", {c.rows, c.cols}},
            {"bytes_moved", 2 * half},
            {"kernel", plan.kernel()},
            {"plan", to_string(plan)},
            {"right", difference(plan, problem.bytes(), vectors).empty()},
            {"seconds", contestants[0].seconds},
            {"copy_seconds", copy_seconds(contestants)},
            {"share", copy_seconds(contestants) / contestants[0].seconds}};
  }

  /// A matrix to or from blocks of 32, as it lies (`rows`), transposed (`cols`), or both.
  ordered_json quantisation(const BlocksCase& c) {
    const std::int64_t size = ElementType(c.kind).size();
    const BlockRow row = row_of(c.rule.format);
    const std::int64_t elements = c.rows * c.cols;
    const std::int64_t values = elements / row.values_per_unit() * row.unit_bytes();
    const std::int64_t scales = elements / (row.along * row.across) * row.scale_bytes();
    const bool both = c.as_it_lies && c.transposed;
    // Scales of f32 for lines lie as torch._scaled_mm reads them: those of neighbouring lines.
    const auto packed = [&](bool transposed) {
      const std::int64_t length = transposed ? c.rows : c.cols, lines = elements / length;
      const std::int64_t blocks = length / row.along;
      BlockLayout to{1, {length / row.values_per_unit() * row.unit_bytes(), row.unit_bytes()}, {}};
      if (row.has_scales()) to.scale_strides = {blocks * row.scale_bytes(), row.scale_bytes()};
      if (row.scale == ScaleType::f32 && row.across == 1) to.scale_strides = {4, 4 * lines};
      if (c.order == ScaleOrder::tiles_128x4) to.scale_strides = {blocks / 4 * 512, 512};
      if (c.order == ScaleOrder::tiles_128x4 || row.across > 1) to.across = transposed ? 1 : 0;
      to.order = c.order;
      if (transposed) {
        to.axis = 0;
        std::swap(to.value_strides[0], to.value_strides[1]);
        if (row.has_scales()) std::swap(to.scale_strides[0], to.scale_strides[1]);
      }
      return to;
    };
    Blocks blocks{c.rule, c.back, packed(!c.as_it_lies), {}};
    if (both) blocks.second = packed(true);
    const Plan plan = make_plan(
        block_problem(ElementType(c.kind), {c.rows, c.cols}, {c.cols * size, size}, blocks),
        machine_);
    // Where the arrays of blocks lie, from the first on.
    const auto arrays_at = [&](const std::byte* first) {
      std::byte* const at = const_cast<std::byte*>(first);
      std::byte* const second = at + (values + scales + 255) / 256 * 256;
      return BlockBuffers{at + values, second, second + values};
    };
    const std::int64_t made = (values + scales) * (both ? 2 : 1);
    const std::int64_t half = (elements * size + made) / 2;
    std::vector<Timed> contestants{{"cornerturn", [&](const std::byte* s, std::byte* d) {
                                      cuda::execute(plan, {d, s, {}, arrays_at(c.back ? s : d)},
                                                    static_cast<cuda::Stream>(gpu_.stream()));
                                    }}};
    add_copies(contestants, half);
    const std::int64_t plain = std::max(elements * size, half);
    const std::int64_t of_blocks = std::max(made + 256, half);
    time(contestants, c.back ? of_blocks : plain, c.back ? plain : of_blocks,
         static_cast<int>(size));
    return {{"case", c.name},
            {"from", c.back ? c.format_name() : ElementType(c.kind).name()},
            {"to", c.back ? ElementType(c.kind).name() : c.format_name()},
            {"shape", {c.rows, c.cols}},
            {"bytes_moved", 2 * half},
            {"kernel", plan.kernel()},
            {"seconds", contestants[0].seconds},
            {"copy_seconds", copy_seconds(contestants)},
            {"share", copy_seconds(contestants) / contestants[0].seconds}};
  }

 private:
  // "" or that the first bytes differ from gather's result.
  std::string difference(const Plan& plan, std::int64_t bytes, const Vectors& vectors = {}) {
    const auto stream = static_cast<cuda::Stream>(gpu_.stream());
    bytes = std::min(bytes, std::int64_t{256} << 20);
    Plan other = make_plan(plan.problem, machine_, {1, "gather"});
    const auto result = [&](const Plan& p) {
      cuda::check(cudaMemsetAsync(gpu_.dst(), 0x5a, static_cast<std::size_t>(bytes), stream),
                  "cudaMemsetAsync");
      cuda::execute(p, {gpu_.dst(), gpu_.src(), vectors}, stream);
      std::vector<std::byte> out(static_cast<std::size_t>(bytes));
      cuda::check(
          cudaMemcpyAsync(out.data(), gpu_.dst(), out.size(), cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
      gpu_.synchronize();
      return out;
    };
    return result(plan) == result(other) ? "" : "differs from gather";
  }

  Accelerator& gpu_;
  const plan::Machine& machine_;
};

// What --only asks for: one of its texts is in "CASE FROM TO".
bool is_one_of(const std::vector<std::string>& only, std::string_view name, std::string_view from,
               std::string_view to) {
  const std::string whole = fmt::format("{} {} {}", name, from, to);
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return whole.find(text) != std::string::npos;
         });
}

constexpr BlockRule q8;
constexpr BlockRule mx{BlockFormat::mxfp8_e4m3};
constexpr BlockRule lines{BlockFormat::fp8_1x128, BlockScale::exact};
constexpr BlockRule squares{BlockFormat::fp8_128x128, BlockScale::exact};
constexpr BlockRule nvfp4{BlockFormat::nvfp4, BlockScale::exact};
constexpr BlocksCase blocks_cases[] = {
    {"both ways", Kind::bf16, mx, true, true},
    {"both ways", Kind::f32, mx, true, true},
    {"transposed", Kind::bf16, mx, false, true},
    {"as it lies", Kind::bf16, mx, true, false},
    {"transposed", Kind::f32, q8, false, true},
    {"transposed", Kind::bf16, q8, false, true},
    {"as it lies", Kind::f32, q8, true, false},
    {"transposed, any kernel", Kind::f32, q8, false, true, false, 16384, 16381},
    {"transposed", Kind::f32, q8, false, true, true},
    {"as it lies", Kind::f32, q8, true, false, true},
    {"transposed", Kind::bf16, q8, false, true, true},
    {"transposed", Kind::bf16, mx, false, true, true},
    {"as it lies", Kind::bf16, mx, true, false, true},
    {"transposed", Kind::f32, mx, false, true, true},
    {"transposed, any kernel", Kind::f32, q8, false, true, true, 16384, 16381},
};

// What training casts: of each size, three directions.
std::vector<BlocksCase> training_cases() {
  struct Format {
    BlockRule rule;
    ScaleOrder order;
  };
  constexpr Format formats[] = {{lines, ScaleOrder::strided},
                                {squares, ScaleOrder::strided},
                                {mx, ScaleOrder::tiles_128x4},
                                {nvfp4, ScaleOrder::tiles_128x4}};
  std::vector<BlocksCase> cases;
  for (const Format& format : formats) {
    for (const std::int64_t side : {4096, 8192, 16384, 32768}) {
      for (const auto& [name, rows, cols] : {std::tuple{"as it lies", true, false},
                                             {"transposed", false, true},
                                             {"both ways", true, true}}) {
        cases.push_back(
            {name, Kind::bf16, format.rule, rows, cols, false, side, side, format.order});
      }
    }
  }
  return cases;
}

constexpr ScaledCase scaled_cases[] = {
    {"transposed, scale of rows", Kind::f32, Kind::i8},
    {"transposed, scale of columns", Kind::f32, Kind::i8, true, false},
    {"transposed, scale of rows", Kind::bf16, Kind::f8_e4m3},
    {"transposed, scale of columns", Kind::bf16, Kind::f8_e4m3, true, false},
    {"transposed, scale of rows", Kind::i8, Kind::bf16},
    {"transposed, scale of rows", Kind::f8_e4m3, Kind::bf16},
    {"as it lies, scale of rows", Kind::f32, Kind::i8, false, true},
    {"as it lies, scale of columns", Kind::bf16, Kind::f8_e4m3, false, false},
};
constexpr std::pair<Kind, Kind> pairs[] = {{Kind::f32, Kind::f16},      {Kind::f32, Kind::bf16},
                                           {Kind::f32, Kind::f8_e4m3},  {Kind::bf16, Kind::f32},
                                           {Kind::bf16, Kind::f8_e4m3}, {Kind::u8, Kind::f32}};

struct Arguments {
  std::string json;
  double max_seconds = 1e9;
  bool all_candidates = false;
  std::vector<std::string> only;
};

// Measures what is wanted, prints each case, and keeps all.
class Session {
 public:
  Session(Accelerator& gpu, const Arguments& arguments) : bench_(gpu), arguments_(arguments) {
    report_ = {{"kind", "cornerturn-conversions"}, {"schema", 1}};
    report_["provenance"] = provenance();
    report_["provenance"].update(gpu.provenance());
  }

  void blocks() {
    const auto measure = [&](const char* list, const BlocksCase& c) {
      const std::string plain = ElementType(c.kind).name(), format = c.format_name();
      const bool wanted =
          is_one_of(arguments_.only, c.name, c.back ? format : plain, c.back ? plain : format);
      if (wanted) keep(list, bench_.quantisation(c));
    };
    for (const BlocksCase& c : blocks_cases) measure("quantise", c);
    for (const BlocksCase& c : training_cases()) measure("training", c);
  }

  void scaled() {
    for (const ScaledCase& c : scaled_cases) {
      if (is_wanted(c.name, c.from, c.to)) keep("scaled", bench_.scaled(c));
    }
  }

  void conversions() {
    const Suite suite = load_suite("everyday");
    for (const auto& [src, dst] : pairs) {
      for (const Case& c : suite.cases) {
        if (c.element_bytes != 4 || c.warm() || c.payload_bytes() > (std::int64_t{3} << 30)) {
          continue;
        }
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
        if (passed.count() > arguments_.max_seconds) break;
        if (!is_wanted(c.name, src, dst)) continue;
        keep("cases", bench_.conversion(c, src, dst, arguments_.all_candidates));
      }
    }
  }

  /// Writes the report; are all results right?
  bool end() const {
    if (!arguments_.json.empty()) std::ofstream(arguments_.json) << report_.dump(1) << "\n";
    std::cout << (right_ ? "all results are right\n" : "some results are WRONG\n");
    return right_;
  }

 private:
  bool is_wanted(std::string_view name, Kind from, Kind to) const {
    return is_one_of(arguments_.only, name, ElementType(from).name(), ElementType(to).name());
  }

  void keep(const char* list, const ordered_json& one) {
    report_[list].push_back(one);
    right_ = right_ && one.value("right", true);
    std::cout << fmt::format("{:32} {:>8} {:>8} {:6.1f} %  {}\n", one["case"].get<std::string>(),
                             one["from"].get<std::string>(), one.value("to", ""),
                             100 * one["share"].get<double>(),
                             one.value("plan", one.value("kernel", "")))
              << std::flush;
  }

  Bench bench_;
  const Arguments& arguments_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  ordered_json report_;
  bool right_ = true;
};

int run(const Arguments& arguments) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  Session session(*gpu, arguments);
  session.blocks();
  session.scaled();
  session.conversions();
  return session.end() ? 0 : 1;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures conversions on the GPU that is here");
  cornerturn::bench::Arguments arguments;
  app.add_option("--json", arguments.json, "Write the results to this file");
  app.add_option("--max-seconds", arguments.max_seconds, "Begin no case after so many seconds");
  app.add_flag("--all-candidates", arguments.all_candidates, "Time every candidate but gather");
  app.add_option("--only", arguments.only, "Measure only where this is part of \"CASE FROM TO\"");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "bench_conversions: " << error.what() << "\n";
    return 2;
  }
}
