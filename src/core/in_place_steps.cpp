// The steps of a permutation: the cheapest path from the order of the axes to the one asked for.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/in_place.hpp"

namespace cornerturn::in_place {
namespace {

using Order = std::vector<int>;

// More axes than this have too many orders to try; they are put in place one after the other.
constexpr std::size_t most_searched = 6;

// A permutation of axes none of which could be fused with the next.
struct Fused {
  Extents extents;  // in the order of the array
  Order wanted;     // of these axes
  std::int64_t element;
};

Fused fuse(const Extents& shape, const std::vector<int>& perm, std::int64_t element) {
  std::vector<int> wanted;
  for (const int axis : perm) {
    if (shape[static_cast<std::size_t>(axis)] != 1) wanted.push_back(axis);
  }
  // Axes that follow each other on both sides, but for axes of extent 1, are one.
  const auto follows = [&](int before, int axis) {
    for (int between = before + 1; between < axis; ++between) {
      if (shape[static_cast<std::size_t>(between)] != 1) return false;
    }
    return before < axis;
  };
  std::map<int, std::int64_t> extents;  // by the first axis of each
  std::vector<int> firsts;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(wanted[i])];
    if (i > 0 && follows(wanted[i - 1], wanted[i])) {
      extents[firsts.back()] *= extent;
    } else {
      firsts.push_back(wanted[i]);
      extents[wanted[i]] = extent;
    }
  }
  Fused fused{{}, {}, element};
  std::map<int, int> number;
  for (const auto& [first, extent] : extents) {
    number[first] = static_cast<int>(fused.extents.size());
    fused.extents.push_back(extent);
  }
  for (const int first : firsts) fused.wanted.push_back(number[first]);
  if (!fused.wanted.empty() && fused.wanted.back() + 1 == static_cast<int>(fused.wanted.size())) {
    fused.element *= fused.extents.back();  // the last axis stays the last one
    fused.extents.pop_back();
    fused.wanted.pop_back();
  }
  return fused;
}

// Groups of axes that change places: [i, j) with [k, l), where i < j <= k < l.
struct Exchange {
  std::size_t i, j, k, l;
};

std::int64_t product(const Fused& fused, const Order& order, std::size_t first, std::size_t last) {
  std::int64_t all = 1;
  for (std::size_t at = first; at < last; ++at) {
    all *= fused.extents[static_cast<std::size_t>(order[at])];
  }
  return all;
}

Step step_of(const Fused& fused, const Order& order, const Exchange& x) {
  const std::int64_t rows = product(fused, order, x.i, x.j);
  const std::int64_t columns = product(fused, order, x.k, x.l);
  return {rows == columns ? Step::Kind::swap : Step::Kind::transpose,
          product(fused, order, 0, x.i),
          rows,
          columns,
          product(fused, order, x.j, x.k),
          product(fused, order, x.l, order.size()) * fused.element};
}

Order after(const Order& order, const Exchange& x) {
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  Order next(order.begin(), at(x.i));
  next.insert(next.end(), at(x.k), at(x.l));
  next.insert(next.end(), at(x.j), at(x.k));
  next.insert(next.end(), at(x.i), at(x.j));
  next.insert(next.end(), at(x.l), order.end());
  return next;
}

// Groups that are not neighbours change places only where they are of one size.
template <class Visit>
void for_each_exchange(const Fused& fused, const Order& order, const Visit& visit) {
  const std::size_t rank = order.size();
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = i + 1; j < rank; ++j) {
      const std::int64_t size = product(fused, order, i, j);
      for (std::size_t k = j; k < rank; ++k) {
        for (std::size_t l = k + 1; l <= rank; ++l) {
          if (k == j || product(fused, order, k, l) == size) visit(Exchange{i, j, k, l});
        }
      }
    }
  }
}

struct Reached {
  double cost = std::numeric_limits<double>::infinity();
  Order from;
  Exchange by{};
};

// The cheapest exchanges from the order of the array to the wanted one. cost(step) is infinite for
// steps that cannot be done; join(a, b) is the cost of both.
template <class Cost, class Join>
std::vector<Step> search(const Fused& fused, const Cost& cost, const Join& join) {
  Order start(fused.wanted.size());
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int>(i);
  std::map<Order, Reached> reached;
  std::set<std::pair<double, Order>> open{{0, start}};
  reached[start].cost = 0;
  while (!open.empty()) {
    const auto [so_far, order] = *open.begin();
    open.erase(open.begin());
    if (order == fused.wanted) break;
    const Order& here = order;
    const double spent = so_far;
    for_each_exchange(fused, here, [&](const Exchange& x) {
      const double total = join(spent, cost(step_of(fused, here, x)));
      Reached& next = reached[after(here, x)];
      if (total >= next.cost) return;
      open.erase({next.cost, after(here, x)});
      next = {total, here, x};
      open.insert({total, after(here, x)});
    });
  }
  std::vector<Step> steps;
  Order at = fused.wanted;
  if (reached.find(at) == reached.end() || reached[at].from.empty()) return steps;
  for (; at != start; at = reached[at].from) {
    steps.insert(steps.begin(), step_of(fused, reached[at].from, reached[at].by));
  }
  return steps;
}

// Each place gets its axis, with those that follow it there.
std::vector<Step> one_after_the_other(const Fused& fused) {
  Order order(fused.wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::vector<Step> steps;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto found = std::find(order.begin(), order.end(), fused.wanted[place]);
    const auto k = static_cast<std::size_t>(found - order.begin());
    if (k == place) continue;
    std::size_t l = k + 1;
    while (l < order.size() && order[l] == fused.wanted[place + l - k]) ++l;
    const Exchange x{place, k, k, l};
    steps.push_back(step_of(fused, order, x));
    order = after(order, x);
  }
  return steps;
}

double cost_of(const Step& step, const Limits& limits) {
  if (step.kind == Step::Kind::swap) return 1;
  const std::optional<Factors> factors = factorise(step, limits);
  return factors ? passes_of(step, *factors, limits) : std::numeric_limits<double>::infinity();
}

std::vector<Step> cheapest_steps(const Fused& fused, const Limits& limits) {
  if (fused.wanted.size() > most_searched) return one_after_the_other(fused);
  std::map<std::array<std::int64_t, 4>, double> known;  // most steps come up again and again
  const auto cost = [&](const Step& step) {
    const std::array key{step.batch, step.rows, step.columns, step.element};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known[key] = cost_of(step, limits);
  };
  return search(fused, cost, [](double a, double b) { return a + b; });
}

// A matrix, or a batch of them, whose extents have a common divisor g: [m][g][n][g]. Squares of g
// by g elements then change places in one pass, and what is left moves in whole runs of g elements.
std::optional<Fused> in_squares(const Fused& fused) {
  const std::size_t rank = fused.wanted.size();
  if (rank < 2 || rank > 3 || fused.wanted[rank - 1] + 1 != fused.wanted[rank - 2]) {
    return std::nullopt;
  }
  const std::int64_t rows = fused.extents[rank - 2], columns = fused.extents[rank - 1];
  const std::int64_t side = std::gcd(rows, columns);
  if (side == 1 || rows == columns || fused.wanted[0] != (rank == 3 ? 0 : 1)) return std::nullopt;
  Fused split{{fused.extents.begin(), fused.extents.end() - 2}, {}, fused.element};
  Order places[2];  // of the two axes: their parts
  const std::int64_t extents[2] = {rows, columns};
  for (int axis = 0; axis < 2; ++axis) {
    for (const std::int64_t part : {extents[axis] / side, side}) {
      if (part == 1) continue;
      places[axis].push_back(static_cast<int>(split.extents.size()));
      split.extents.push_back(part);
    }
  }
  if (rank == 3) split.wanted.push_back(0);
  split.wanted.insert(split.wanted.end(), places[1].begin(), places[1].end());
  split.wanted.insert(split.wanted.end(), places[0].begin(), places[0].end());
  return split;
}

double cost_of(const std::vector<Step>& steps, const Limits& limits) {
  double all = steps.empty() ? std::numeric_limits<double>::infinity() : 0;
  for (const Step& step : steps) all += cost_of(step, limits);
  return all;
}

std::vector<Step> smallest_steps(const Fused& fused, const Limits& limits) {
  if (fused.wanted.size() > most_searched) return one_after_the_other(fused);
  return search(
      fused, [&](const Step& step) { return static_cast<double>(least_workspace(step, limits)); },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace

Decomposition decompose(const Extents& shape, const std::vector<int>& perm, std::int64_t element,
                        const Limits& limits) {
  const Fused fused = fuse(shape, perm, element);
  Decomposition all;
  if (fused.wanted.empty()) return all;
  std::vector<Step> steps = cheapest_steps(fused, limits);
  if (const auto squares = limits.squares ? in_squares(fused) : std::nullopt) {
    std::vector<Step> others = cheapest_steps(*squares, limits);
    if (cost_of(others, limits) < cost_of(steps, limits)) steps = std::move(others);
  }
  all.fits = !steps.empty();
  for (const Step& step : steps) {
    const std::optional<Factors> factors =
        step.kind == Step::Kind::swap ? Factors{} : factorise(step, limits);
    all.fits = all.fits && factors.has_value();
    if (!all.fits) break;
    all.ways.push_back({step, *factors});
    all.workspace = std::max(all.workspace, workspace_of(step, *factors, limits));
    all.passes += passes_of(step, *factors, limits);
  }
  if (!all.fits) {
    all = {};
    all.fits = false;
    for (const Step& step : smallest_steps(fused, limits)) {
      all.workspace = std::max(all.workspace, least_workspace(step, limits));
    }
  }
  return all;
}

}  // namespace cornerturn::in_place
