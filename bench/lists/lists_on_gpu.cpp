// Measures copies by lists on the GPU that is here: rows by random lists, and pages of caches from
// one layout to another, beside a plain copy of as many bytes in the same turns.
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

ordered_json result_of(Accelerator& gpu, const ListCase& c, std::int64_t bytes, std::byte* src,
                       std::byte* dst) {
  const Measured measured(gpu, c, bytes);
  ordered_json json = {{"name", c.name},
                       {"page_bytes", c.page_bytes()},
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
  std::cout << fmt::format("{:<44} {:<10} {:6.1f} % of a copy, {:6.1f} us on the host {}\n", c.name,
                           json["kernel"].get<std::string>(), 100 * json["share"].get<double>(),
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
  for (const ListCase& c : all_cases()) {
    if (c.name.find(arguments.text) == std::string::npos) continue;
    report["cases"].push_back(result_of(*gpu, c, arguments.bytes, static_cast<std::byte*>(hosts[0]),
                                        static_cast<std::byte*>(hosts[1])));
    right = right && report["cases"].back()["wrong"] == "";
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
