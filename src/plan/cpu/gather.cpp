#include "plan/cpu/gather.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/stores.hpp"

namespace cornerturn::plan::gather {

const char* Family::why_not(const Problem&, const CpuInfo&) {
  return nullptr;
}

void Family::configure(const Problem&, const CpuInfo&, const Add<GatherConfig>& add) {
  add({});
}

namespace {

constexpr std::int64_t page_bytes = 4096;
constexpr std::int64_t followed_pages = 32;  // about so many streams of reads are fetched ahead
constexpr std::int64_t ways = 8;             // of the first two levels of cache

// Bytes of the source's lines that are read between one element and its neighbour in the source,
// which shares its line: a run, and runs of the modes in between.
double touched_before_neighbour(const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t line = cpu.line_bytes;
  const Mode& run = normal.modes.back();
  double touched = static_cast<double>(std::min<std::int64_t>(std::abs(run.src_stride), line)) *
                   static_cast<double>(run.extent);
  for (int i = normal.rank() - 1; i-- > 0;) {
    if (std::abs(normal.modes[i].src_stride) < line) return touched;
    touched *= static_cast<double>(normal.modes[i].extent);
  }
  return std::numeric_limits<double>::infinity();  // no neighbour is read
}

// So many lines of a run stay in a cache: those that its sets hold, which lines a power of two
// apart share.
std::int64_t lines_that_stay(const Mode& run, std::int64_t cache_bytes) {
  const std::int64_t way = cache_bytes / ways;
  return way / std::gcd(run.src_stride, way) * ways;
}

// Do short runs begin in other pages, of which there are too many for a processor to fetch ahead?
bool begins_far(const Problem& normal, const CpuInfo& cpu) {
  const double source_bytes = first_reads(normal) * static_cast<double>(normal.bytes());
  if (fits_l2(normal, cpu) || 2 * source_bytes < static_cast<double>(cpu.l2_bytes)) return false;
  const Mode& run = normal.modes.back();
  const std::int64_t stride = std::abs(run.src_stride);
  const std::int64_t bytes = (run.extent - 1) * stride + normal.dst_type.size();
  if (stride >= cpu.line_bytes || bytes >= page_bytes) return false;
  std::int64_t pages = 1;
  for (int i = normal.rank() - 1; i-- > 0;) {
    if (std::abs(normal.modes[i].src_stride) < page_bytes) break;
    pages *= normal.modes[i].extent;
  }
  return pages > followed_pages;
}

}  // namespace

// An element costs its loop or the memory traffic of its bytes, whichever takes longer. Where lines
// of the source are lost before the elements beside them are read, whole lines take the place of
// elements. Elements that it jumps between are late as well: in the second-level cache where the
// first level has lost lines that share few of its sets, or where they are in one or two sets, so
// that loads wait for stores 4096 bytes away.
// A call takes so much longer than one of other kernels, as measured for 16 to 256 bytes.
constexpr double start_ns = 20;

double Family::cost_ns(const GatherConfig&, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const auto elements = static_cast<double>(normal.elements());
  if (normal.modes.empty()) return start_ns + c.loop_ns;
  const Mode& run = normal.modes.back();
  const bool jumps = std::abs(run.src_stride) >= cpu.line_bytes;
  const int width = normal.dst_type.size();
  double element_ns = normal.converts()       ? c.converting_ns
                      : is_filled(run, width) ? c.filled_ns_a_byte * width
                                              : c.loop_ns;
  if (!fits_l2(normal, cpu)) {
    const auto l2_bytes = static_cast<double>(cpu.l2_bytes);
    const bool lost = !jumps && touched_before_neighbour(normal, cpu) > l2_bytes / 2;
    const std::int64_t bytes =
        lost ? std::max<std::int64_t>(width, std::abs(run.src_stride)) : width;
    // What is read again comes from the caches: that leaves what is written.
    const double traffic = (1 + first_reads(normal)) / 2;
    element_ns = std::max(element_ns, c.traffic_ns_a_byte * static_cast<double>(bytes) * traffic);
    if (jumps) element_ns += c.lost_line_ns;
  } else if (jumps && normal.bytes() > cpu.l1_bytes) {
    const std::int64_t lines = lines_that_stay(run, cpu.l1_bytes);
    if (lines <= 2 * ways || run.extent > lines) element_ns += c.lost_line_ns;
  }
  const double runs = elements / static_cast<double>(std::max<std::int64_t>(run.extent, 1));
  const double run_ns = c.run_ns + (begins_far(normal, cpu) ? double{c.far_run_ns} : 0.0);
  return start_ns + elements * element_ns + runs * run_ns;
}

std::string Family::describe(const GatherConfig&, const Problem& normal) {
  if (normal.converts()) {
    return normal.src_type.name() + " to " + normal.dst_type.name() + ", one after the other";
  }
  return std::to_string(normal.dst_type.size()) + " B at a time in destination order";
}

}  // namespace cornerturn::plan::gather
