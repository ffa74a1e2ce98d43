// Measures copies by lists on the GPU that is here: rows by random lists, pages of caches from one
// layout to another, and rows of experts, permuted, padded and cast, beside a plain copy of as many
// bytes in the same turns.
//
//   usage: bench_lists [--bytes N] [--case TEXT] [--json FILE]
//
// Every case is checked first: the destination is poisoned, and all of it is compared on the host.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "files/output_file.hpp"
#include "gpu/accelerator.hpp"
#include "harness/machine.hpp"
#include "harness/statistics.hpp"

namespace cornerturn::bench::lists {
namespace {

using nlohmann::ordered_json;

constexpr int turns = 15;

struct ListCase {
  std::string name;
  Extents page;           ///< of the source, in elements, the fastest axis last
  std::vector<int> axes;  ///< of a page in the destination
  int element = 2;        ///< bytes
  bool read = true;       ///< by a list
  bool written = true;

  std::int64_t page_bytes() const {
    return std::accumulate(page.begin(), page.end(), std::int64_t{element}, std::multiplies<>());
  }
};

std::vector<ListCase> all_cases() {
  std::vector<ListCase> cases;
  for (std::int64_t bytes = 64; bytes <= 16384; bytes *= 2) {
    for (const auto& [way, read, written] :
         {std::tuple{"read", true, false}, std::tuple{"written", false, true},
          std::tuple{"both", true, true}}) {
      cases.push_back(
          {fmt::format("rows of {} B, {} by a list", bytes, way), {bytes}, {0}, 1, read, written});
    }
  }
  cases.push_back({"pages 16 x 8 x 128 bf16, p h d to h p d", {16, 8, 128}, {1, 0, 2}});
  cases.push_back({"pages 16 x 8 x 128 bf16, as they lie", {16, 8, 128}, {0, 1, 2}});
  cases.push_back({"pages 16 x 1 x 128 bf16, as they lie", {16, 1, 128}, {0, 1, 2}});
  cases.push_back({"pages 16 x 8 x 128 bf16, p h d to h d p", {16, 8, 128}, {1, 2, 0}});
  cases.push_back({"pages 64 x 8 x 128 bf16, p h d to h d p", {64, 8, 128}, {1, 2, 0}});
  cases.push_back({"pages 128 x 128 fp8, transposed", {128, 128}, {1, 0}, 1});
  return cases;
}

// A table of a random order of all pages, on both sides of the link.
struct Table {
  Table(std::int64_t count, std::uint64_t seed) : on_host(static_cast<std::size_t>(count)) {
    std::iota(on_host.begin(), on_host.end(), 0);
    std::shuffle(on_host.begin(), on_host.end(), std::mt19937_64(seed));
    on_gpu = cuda::DeviceBuffer(count * 8);
    cuda::check(
        cudaMemcpy(on_gpu.get(), on_host.data(), on_host.size() * 8, cudaMemcpyHostToDevice),
        "cudaMemcpy");
  }

  std::vector<std::int64_t> on_host;
  cuda::DeviceBuffer on_gpu;
};

// A case with its tables.
class Measured {
 public:
  Measured(Accelerator& gpu, const ListCase& c, std::int64_t bytes)
      : gpu_(gpu),
        case_(c),
        pages_(bytes / c.page_bytes()),
        read_(pages_, 1),
        written_(pages_, 2) {}

  const std::string& name() const { return case_.name; }
  std::int64_t page_bytes() const { return case_.page_bytes(); }
  std::int64_t bytes() const { return pages_ * case_.page_bytes(); }

  void run() const { copy(to(gpu_.dst()), from(gpu_.src()), {}, options()); }
  Plan plan() const { return make_plan(to(gpu_.dst()), from(gpu_.src()), {}, options()); }

  // "" or what is wrong. `src` and `dst` are copies of the arrays, in pinned memory.
  std::string wrong(std::byte* src, std::byte* dst) const {
    const auto size = static_cast<std::size_t>(bytes());
    cuda::check(cudaMemset(gpu_.dst(), 0xa5, size), "cudaMemset");
    run();
    gpu_.synchronize();
    cuda::check(cudaMemcpy(dst, gpu_.dst(), size, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto page = static_cast<std::size_t>(case_.page_bytes());
    std::vector<std::byte> expected(page);
    const View packed(expected.data(), type(), permuted(case_.page, case_.axes));
    for (std::int64_t k = 0; k < pages_; ++k) {
      const auto slot = static_cast<std::size_t>(k);
      const std::int64_t at = case_.read ? read_.on_host[slot] : k;
      const std::int64_t to = case_.written ? written_.on_host[slot] : k;
      copy(packed,
           ConstView(src + at * case_.page_bytes(), type(), case_.page).permuted(case_.axes),
           Options{.threads = 1, .effort = Effort::estimate});
      if (std::memcmp(expected.data(), dst + to * case_.page_bytes(), page) != 0) {
        return fmt::format("page {} differs", k);
      }
    }
    return "";
  }

 private:
  ElementType type() const { return ElementType::bytes(case_.element); }
  Options options() const {
    Options options;
    options.stream = gpu_.stream();
    return options;
  }
  template <class Void>
  BasicListedView<Void> listed(BasicView<Void> all, bool by_list, const Table& table) const {
    if (!by_list) return all;
    return indexed(std::move(all), 0, reinterpret_cast<const std::int64_t*>(table.on_gpu.get()),
                   pages_);
  }
  static std::vector<int> with_pages(const std::vector<int>& axes) {
    std::vector<int> all = {0};
    for (const int axis : axes) all.push_back(axis + 1);
    return all;
  }
  Extents with_pages(const Extents& page) const {
    Extents all = {pages_};
    all.insert(all.end(), page.begin(), page.end());
    return all;
  }
  ListedView to(std::byte* dst) const {
    return listed(View(dst, type(), with_pages(permuted(case_.page, case_.axes))), case_.written,
                  written_);
  }
  ConstListedView from(const std::byte* src) const {
    return listed(ConstView(src, type(), with_pages(case_.page)).permuted(with_pages(case_.axes)),
                  case_.read, read_);
  }

  Accelerator& gpu_;
  const ListCase& case_;
  std::int64_t pages_;
  Table read_;
  Table written_;
};

// Rows of 7168 bf16, sorted by eight experts, each of which begins at a multiple of 128 rows: as
// they are, in another type, or cast in blocks of 128.
class Experts {
 public:
  enum class Way { moved, converted, cast };

  Experts(Accelerator& gpu, Way way, std::int64_t bytes) : gpu_(gpu), way_(way) {
    rows_ = bytes / (2 * columns) / 128 * 128 - 8 * 128;
    std::mt19937_64 random(3);
    std::vector<std::vector<std::int32_t>> of(8);
    for (std::int64_t i = 0; i < rows_; ++i) {
      of[random() % 8].push_back(static_cast<std::int32_t>(i));
    }
    for (auto& expert : of) {
      expert.resize((expert.size() + 127) / 128 * 128, -1);
      on_host_.insert(on_host_.end(), expert.begin(), expert.end());
    }
    const std::size_t size = on_host_.size() * sizeof(std::int32_t);
    table_ = cuda::DeviceBuffer(static_cast<std::int64_t>(size));
    cuda::check(cudaMemcpy(table_.get(), on_host_.data(), size, cudaMemcpyHostToDevice),
                "cudaMemcpy");
  }

  std::string name() const {
    static constexpr const char* ways[] = {"moved", "to f32", "to FP8 1x128"};
    return fmt::format("experts of 7168 bf16, padded, {}", ways[static_cast<int>(way_)]);
  }
  std::int64_t page_bytes() const { return columns * 2; }
  /// Half of all that is read or written, as in a copy.
  std::int64_t bytes() const { return (rows_ * columns * 2 + count() * row_bytes()) / 2; }

  void run() const { run(gpu_.dst(), gpu_.src(), reinterpret_cast<std::int32_t*>(table_.get())); }
  Plan plan() const {
    const auto* const table = reinterpret_cast<const std::int32_t*>(table_.get());
    if (way_ != Way::cast) return make_plan(to(gpu_.dst()), from(gpu_.src(), table), {}, options());
    const View scales = scales_of(gpu_.dst());
    return plan_quantise_listed(BlockFormat::fp8_1x128, to(gpu_.dst()), &scales,
                                from(gpu_.src(), table), 1, block_options());
  }
  // "" or what is wrong: the CPU does the same.
  std::string wrong(std::byte* src, std::byte* dst) const {
    const auto size = static_cast<std::size_t>(count() * row_bytes());
    cuda::check(cudaMemset(gpu_.dst(), 0xa5, size), "cudaMemset");
    run();
    gpu_.synchronize();
    cuda::check(cudaMemcpy(dst, gpu_.dst(), size, cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::vector<std::byte> expected(size);
    run(expected.data(), src, on_host_.data());
    return std::memcmp(expected.data(), dst, size) == 0 ? "" : "differs";
  }

 private:
  static constexpr std::int64_t columns = 7168;

  std::int64_t count() const { return static_cast<std::int64_t>(on_host_.size()); }
  std::int64_t row_bytes() const {
    return way_ == Way::moved       ? 2 * columns
           : way_ == Way::converted ? 4 * columns
                                    : columns + columns / 32;
  }
  void run(std::byte* dst, const std::byte* src, const std::int32_t* table) const {
    if (way_ != Way::cast) return copy(to(dst), from(src, table), {}, options());
    const View scales = scales_of(dst);
    quantise_listed(BlockFormat::fp8_1x128, to(dst), &scales, from(src, table), 1, block_options());
  }
  View to(std::byte* dst) const {
    static constexpr Kind kinds[] = {Kind::bf16, Kind::f32, Kind::f8_e4m3};
    return View(dst, ElementType(kinds[static_cast<int>(way_)]), {count(), columns});
  }
  View scales_of(std::byte* dst) const {  // as torch._scaled_mm takes them
    return View(dst + count() * columns, ElementType(Kind::f32), {count(), columns / 128},
                {4, 4 * count()});
  }
  ConstListedView from(const std::byte* src, const std::int32_t* table) const {
    return indexed(ConstView(src, ElementType(Kind::bf16), {rows_, columns}), 0, table, count());
  }
  Options options() const {
    Options options;
    options.stream = gpu_.stream();
    return options;
  }
  BlockOptions block_options() const {
    BlockOptions options;
    options.stream = gpu_.stream();
    return options;
  }

  Accelerator& gpu_;
  Way way_;
  std::int64_t rows_ = 0;
  std::vector<std::int32_t> on_host_;
  cuda::DeviceBuffer table_;
};

template <class Measured>
double host_seconds(const Measured& measured, Accelerator& gpu) {
  std::vector<double> seconds;
  for (int i = 0; i < turns; ++i) {
    gpu.synchronize();
    const auto before = std::chrono::steady_clock::now();
    measured.run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  gpu.synchronize();
  return median(seconds);
}

template <class Measured>
ordered_json result_of(Accelerator& gpu, const Measured& measured, std::byte* src, std::byte* dst) {
  ordered_json json = {{"name", measured.name()},
                       {"page_bytes", measured.page_bytes()},
                       {"bytes", measured.bytes()},
                       {"kernel", measured.plan().kernel()},
                       {"plan", measured.plan().to_string()},
                       {"wrong", measured.wrong(src, dst)}};
  std::vector<double> listed;
  std::vector<double> plain;
  for (int turn = 0; turn < turns; ++turn) {
    const auto seconds =
        gpu.time({[&] { gpu.copy_by_kernel(gpu.dst(), gpu.src(), measured.bytes()); },
                  [&] { measured.run(); }});
    plain.push_back(seconds[0]);
    listed.push_back(seconds[1]);
  }
  json["seconds"] = median(listed);
  json["copy_seconds"] = median(plain);
  json["share"] = median(plain) / median(listed);
  json["host_seconds"] = host_seconds(measured, gpu);
  std::cout << fmt::format("{:<44} {:<10} {:6.1f} % of a copy, {:6.1f} us on the host {}\n",
                           measured.name(), json["kernel"].get<std::string>(),
                           100 * json["share"].get<double>(),
                           1e6 * json["host_seconds"].get<double>(),
                           json["wrong"].get<std::string>())
            << std::flush;
  return json;
}

struct Arguments {
  std::int64_t bytes = std::int64_t{1} << 30;
  std::string text;
  std::string json;
};

int run(const Arguments& arguments) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  gpu->reserve(arguments.bytes, arguments.bytes);
  gpu->fill(gpu->src(), arguments.bytes, 4);
  void* hosts[2];
  for (void*& host : hosts) {
    cuda::check(cudaMallocHost(&host, static_cast<std::size_t>(arguments.bytes)), "cudaMallocHost");
  }
  gpu->synchronize();
  cuda::check(cudaMemcpy(hosts[0], gpu->src(), static_cast<std::size_t>(arguments.bytes),
                         cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  ordered_json report = {{"kind", "cornerturn-lists"}, {"schema", 1}, {"subject", "cornerturn"}};
  report["version"] = cornerturn::version();
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  report["cases"] = ordered_json::array();
  bool right = true;
  const auto measure = [&](const auto& measured) {
    report["cases"].push_back(result_of(*gpu, measured, static_cast<std::byte*>(hosts[0]),
                                        static_cast<std::byte*>(hosts[1])));
    right = right && report["cases"].back()["wrong"] == "";
  };
  const auto asked_for = [&](const std::string& name) {
    return name.find(arguments.text) != std::string::npos;
  };
  for (const ListCase& c : all_cases()) {
    if (asked_for(c.name)) measure(Measured(*gpu, c, arguments.bytes));
  }
  for (const auto way : {Experts::Way::moved, Experts::Way::converted, Experts::Way::cast}) {
    // Half as many rows as there is memory for: what they become may be twice as large.
    const Experts experts(*gpu, way, arguments.bytes / 2);
    if (asked_for(experts.name())) measure(experts);
  }
  if (!arguments.json.empty()) {
    files::write_text(arguments.json, report.dump(1) + "\n", "--json");
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace cornerturn::bench::lists

int main(int argc, char** argv) {
  CLI::App app("Measures copies by lists on the GPU that is here");
  cornerturn::bench::lists::Arguments arguments;
  app.add_option("--bytes", arguments.bytes, "Of each case, 1 GiB unless said");
  app.add_option("--case", arguments.text, "Only cases in whose name this stands");
  app.add_option("--json", arguments.json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "bench_lists: " << error.what() << "\n";
    return 2;
  }
}
