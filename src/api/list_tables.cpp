#include "api/list_tables.hpp"

#include <vector>

#include "core/lists.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

// A GPU's table, brought to the host.
std::vector<std::byte> on_host(const void* table, const Steps& steps, std::int64_t extent,
                               const Options& options) {
  const ElementType entry = ElementType::bytes(steps.places == Places::i32 ? 4 : 8);
  std::vector<std::byte> entries(static_cast<std::size_t>(extent * entry.size()));
  Options asked;
  asked.stream = options.stream;
  // Into pageable memory: the call returns when all has arrived.
  copy(View(entries.data(), entry, {extent}), ConstView(table, entry, {extent}), asked);
  return entries;
}

}  // namespace

bool looks_at_entries(bool on_gpu, const Options& options) {
  return on_gpu ? options.lists == ListChecks::always : options.lists != ListChecks::never;
}

void check_tables_of_gpu(const Problem& problem, const Buffers& buffers, const Options& options) {
  check_tables(problem, buffers, false);
  Buffers there = buffers;
  std::vector<std::byte> src;
  std::vector<std::byte> dst;
  for (const ListMode& mode : problem.lists->modes) {
    if (mode.src.from_table()) src = on_host(there.lists.src, mode.src, mode.extent, options);
    if (mode.dst.from_table()) dst = on_host(there.lists.dst, mode.dst, mode.extent, options);
  }
  there.lists.src = src.data();
  there.lists.dst = dst.data();
  check_tables(problem, there, true);
}

}  // namespace cornerturn
