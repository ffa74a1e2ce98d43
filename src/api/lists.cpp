// Copies between views of which an axis comes from a table.
#include "cornerturn/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "api/known_plans.hpp"
#include "api/list_tables.hpp"
#include "api/target.hpp"
#include "core/lists.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"
#include "core/visible.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

template <class Void>
bool is_listed(const BasicListedView<Void>& view) {
  return view.list.places != Places::strides;
}

// Does a table have an entry where there is nothing, or that is skipped? Both lie in host memory.
bool has_missing(const Problem& problem, const Buffers& buffers) {
  const auto has = [](const Steps& steps, std::int64_t extent, const void* table) {
    for (std::int64_t k = 0; steps.from_table() && k < extent; ++k) {
      const std::int64_t entry = entry_of(steps.places, table, k);
      if (steps.places == Places::pointers ? entry == 0 : entry < 0) return true;
    }
    return false;
  };
  const auto& modes = problem.lists->modes;
  return std::any_of(modes.begin(), modes.end(), [&](const ListMode& mode) {
    return has(mode.src, mode.extent, buffers.lists.src) ||
           has(mode.dst, mode.extent, buffers.lists.dst);
  });
}

struct ListedCall {
  Problem problem;
  Buffers buffers;
  Target target;
};

// All that can be checked without the entries.
ListedCall listed_call_of(const ListedView& dst, const ConstListedView& src,
                          const Epilogue& epilogue, const Options& options) {
  ListedCall call;
  call.problem = make_problem(dst, src, epilogue);
  call.buffers.dst = dst.view.data;
  call.buffers.src = src.view.data;
  call.buffers.vectors = {epilogue.scale, epilogue.bias};
  call.buffers.lists = {src.list.table, dst.list.table, src.list.count, dst.list.count};
  const auto data_of = [](const auto& view) -> const void* {
    return view.list.places == Places::pointers ? nullptr : view.view.data;
  };
  const auto table_of = [](const auto& view) -> const void* {
    return is_listed(view) ? view.list.table : nullptr;
  };
  call.target = target_of_lists(options, data_of(dst), data_of(src), call.buffers.vectors,
                                {table_of(src), table_of(dst)});
  return call;
}

}  // namespace

void copy(const ListedView& dst, const ConstListedView& src, const Epilogue& epilogue,
          const Options& options) {
  if (!is_listed(dst) && !is_listed(src)) {
    return copy(dst.view, src.view, epilogue, options);
  }
  require_here(options);
  const ListedCall call = listed_call_of(dst, src, epilogue, options);
  if (call.problem.elements() == 0) return;
  const bool on_cpu = call.target.gpu < 0;
  const bool entries = looks_at_entries(!on_cpu, options);
  if (entries && !on_cpu) {
    check_tables_of_gpu(call.problem, call.buffers, options);
  } else {
    check_tables(call.problem, call.buffers, entries);
  }
  check_vectors(call.problem, dst.view.data, call.buffers.vectors);
  Options asked = options;
  // One kernel alone takes steps where there is nothing: others would go where no entry leads.
  if (on_cpu && has_missing(call.problem, call.buffers)) {
    constexpr std::string_view of_missing = "listed";
    if (asked.kernel.empty() || asked.kernel == any_kernel) asked.kernel = of_missing;
    if (asked.kernel != of_missing) {
      refuse(
          fmt::format("kernel = '{}' takes no entries where there is nothing (-1 or null): only "
                      "'{}' does",
                      visible(asked.kernel), of_missing));
    }
  }
  const FoundPlan found = find_plan(call.problem, asked, call.target, call.buffers);
  if (!found.executed) run(*found.plan, call.buffers, options.stream);
}

Plan make_plan(const ListedView& dst, const ConstListedView& src, const Epilogue& epilogue,
               const Options& options) {
  if (!is_listed(dst) && !is_listed(src)) {
    return make_plan(dst.view, src.view, epilogue, options);
  }
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, make_problem(dst, src, epilogue), options));
  }
  Options asked = options;  // there is nothing to time
  asked.effort = Effort::estimate;
  const ListedCall call = listed_call_of(dst, src, epilogue, options);
  return Plan(find_plan(call.problem, asked, call.target, call.buffers).plan);
}

}  // namespace cornerturn
