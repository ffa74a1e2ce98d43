#include "plan/gpu/panels.hpp"

#include <algorithm>
#include <limits>

#include "core/divide.hpp"
#include "plan/gpu/transposition.hpp"

namespace cornerturn::plan::gpu::panels {
namespace {

using kernels::PanelsArgs;
using kernels::PanelWay;

constexpr std::int64_t usual_block_bytes = 32 << 10;  // so that an SM holds several blocks
// Rows of the result from so many units on are stored in chunks of a warp.
constexpr std::int64_t least_of_chunk = kernels::panel_chunk / 2;
constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();

// Behind rows of a power of two, all elements of a column would lie in one bank. A pitch of an odd
// number of words, or of 4 bytes where words are smaller, keeps them apart. Rows that have no whole
// number of 4 bytes stay as they are: they are apart without it.
std::uint32_t pad_of(const Transposition& t, int word) {
  const std::int64_t unit = std::max(word, 4);
  const std::int64_t row = t.columns * t.element;
  if (row % unit != 0 || row / unit % 2 != 0) return 0;
  return static_cast<std::uint32_t>(unit / word);
}

std::int64_t staged_bytes(const Transposition& t, int word) {
  return t.rows * (t.columns * t.element + std::int64_t{pad_of(t, word)} * word);
}

std::int64_t unit_of(int word) {
  return std::max(word, 4);
}

// Bytes of a panel in shared memory.
std::int64_t staged_bytes(const Transposition& t, int word, PanelWay way) {
  switch (way) {
    case PanelWay::vectors:
      return t.matrix_bytes() + t.columns * word;
    case PanelWay::units:
      return t.matrix_bytes() + (t.columns % 2 == 0 ? t.rows * word : 0);
    default:
      return staged_bytes(t, word);
  }
}

bool begin_at_multiples(const Transposition& t, const Alignment& start, std::int64_t bytes) {
  return start.dst % bytes == 0 && t.granule() % bytes == 0;
}

bool takes(PanelWay way, const Transposition& t, int word, const Alignment& start) {
  const std::int64_t column = t.rows * word;  // a row of the result
  switch (way) {
    case PanelWay::vectors:
      return t.element == word && t.rows % 4 == 0 && column % 16 == 0 &&
             t.columns * word % 16 == 0 && begin_at_multiples(t, start, 16);
    case PanelWay::units:
      return t.element == word && column % unit_of(word) == 0 &&
             begin_at_multiples(t, start, unit_of(word));
    default:
      return true;
  }
}

int bytes_at_once(PanelWay way, int word) {
  return way == PanelWay::vectors ? 16
         : way == PanelWay::units ? static_cast<int>(unit_of(word))
                                  : word;
}

PanelWay way_of(const Transposition& t, int word, const Alignment& start,
                const DeviceInfo& device) {
  for (const PanelWay way : {PanelWay::vectors, PanelWay::units}) {
    if (takes(way, t, word, start) && staged_bytes(t, word, way) <= device.shared_per_block) {
      return way;
    }
  }
  return PanelWay::words;
}

}  // namespace

std::int64_t largest_panel(const DeviceInfo& device) {
  constexpr int blocks = 2;  // of an SM: one works while the other one waits for memory
  // A pad is at most as long as half of the shortest row that has one.
  return std::min(device.shared_per_block, device.shared_per_sm / blocks) * std::int64_t{2} / 3;
}

const char* Family::why_not(const Problem& normal, const DeviceInfo& device) {
  const auto t = transposition_of(normal);
  if (!t) return "it does not transpose matrices that lie without gaps";
  if (t->rows > device.shared_per_block || t->columns > device.shared_per_block ||
      t->element > device.shared_per_block || t->rows * t->columns > device.shared_per_block ||
      staged_bytes(*t, normal.src_type.size()) > device.shared_per_block) {
    return "a matrix does not fit into shared memory";
  }
  if (t->matrices() >= most_blocks) return "2^31 matrices or more";
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       const Add<Config>& add) {
  const Transposition t = *transposition_of(normal);
  const int word = normal.src_type.size();
  Config config;
  config.way = way_of(t, word, start, device);
  config.wide = config.way == PanelWay::units && t.columns % 2 != 0 && t.matrix_bytes() % 16 == 0 &&
                begin_at_multiples(t, start, 16);
  if (config.way == PanelWay::words) config.pad = pad_of(t, word);
  if (t.is_packed()) {
    const std::int64_t fit = usual_block_bytes / staged_bytes(t, word, config.way);
    config.panels = static_cast<std::uint32_t>(std::clamp<std::int64_t>(fit, 1, t.matrices()));
  }
  add(config);
}

Demand Family::demand(const Config& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  Demand demand = demand_of_launch(prepare(config, normal), c.block, model);
  const double moves =
      static_cast<double>(normal.bytes()) / bytes_at_once(config.way, normal.src_type.size());
  demand.instructions = moves * (config.way == PanelWay::vectors ? c.vector
                                 : config.way == PanelWay::units ? c.unit
                                                                 : c.word);
  return demand;
}

std::string Family::describe(const Config& config, const Problem& normal) {
  const Transposition t = *transposition_of(normal);
  return std::to_string(config.panels) + " of " + std::to_string(t.rows) + " x " +
         std::to_string(t.columns) + " elements of " + std::to_string(t.element) +
         " bytes a block, " + std::to_string(bytes_at_once(config.way, normal.src_type.size())) +
         " B at a time";
}

std::string Family::details(const Config&) {
  return "traffic     every byte is read and written once\nworkspace   none\n";
}

Launchable<PanelsArgs> Family::prepare(const Config& config, const Problem& normal) {
  const Transposition t = *transposition_of(normal);
  const int word = normal.src_type.size();
  const auto small = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  PanelsArgs args;
  args.word_bytes = word;
  args.way = config.way;
  args.wide = config.wide;
  args.panels = small(t.matrices());
  args.of_block = config.panels;
  args.panel_words = small(t.matrix_bytes() / word);
  args.row_words = FastDivide(small(t.columns * t.element / word));
  args.pitch = args.row_words.divisor + config.pad;
  args.element_words = FastDivide(small(t.element / word));
  args.panel_elements = FastDivide(small(t.rows * t.columns));
  args.rows = FastDivide(small(t.rows));
  args.columns = FastDivide(small(t.columns));
  const std::int64_t units = t.rows * word / bytes_at_once(config.way, word);
  args.row_units = FastDivide(small(units));
  args.row_chunks.divisor = 0;
  if (units >= least_of_chunk) {
    args.row_chunks = FastDivide(small(ceil_div(units, std::int64_t{kernels::panel_chunk})));
  }
  args.row_vectors = FastDivide(small(t.columns * word / 16));
  args.row_fours = FastDivide(small(t.rows / 4));
  args.place = t.places();
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    launch = {{small(ceil_div(t.matrices(), config.panels)), 1, 1},
              {static_cast<unsigned>(Kernel::threads), 1, 1},
              static_cast<unsigned>(config.panels * staged_bytes(t, word, config.way))};
  });
  return {args, launch};
}

void Family::bind(PanelsArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.array = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
}

}  // namespace cornerturn::plan::gpu::panels
