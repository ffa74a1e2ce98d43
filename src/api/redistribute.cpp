#include "api/redistribute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "api/known_plans.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"
#include "core/visible.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cornerturn/shards.hpp"
#include "cuda/backend.hpp"
#include "cuda/in_turns.hpp"
#include "cuda/peers.hpp"
#include "shards/host.hpp"

namespace cornerturn {
namespace {

using shards::Numbers;
using shards::Redistribution;

// What takes turns on a GPU: a few waves of blocks.
constexpr std::int64_t bytes_of_turn = std::int64_t{16} << 20;

std::size_t at(int device) {
  return static_cast<std::size_t>(device);
}

void copy_piece(Problem problem, void* dst, const void* src, const Sending& how, void* stream) {
  dst = static_cast<std::byte*>(dst) + std::exchange(problem.dst_offset, 0);
  src = static_cast<const std::byte*>(src) + std::exchange(problem.src_offset, 0);
  Options options;
  options.threads = how.threads;
  options.stream = stream;
  options.effort = Effort::estimate;
  const Buffers buffers{dst, src};
  run(*find_plan(problem, options, target_on(how.gpu, dst, src), buffers).plan, buffers, stream);
}

// One launch, in which problems that differ in nothing but where they lie take turns.
struct Together {
  std::shared_ptr<const plan::Plan> plan;
  Buffers first;
  Turns turns;
};

// A plan by a kernel that can take turns; null: there is none that is fast enough.
std::shared_ptr<const plan::Plan> plan_in_turns(const Problem& problem, const Sending& how,
                                                const Buffers& first, int count) {
  Options options;
  options.effort = Effort::estimate;
  const Target target = target_on(how.gpu, first.dst, first.src);
  auto best = find_plan(problem, options, target, first).plan;
  if (cuda::can_run_in_turns(*best, count)) return best;
  // Links are an order of magnitude slower than memory: a kernel may be slower than the best.
  constexpr double much_slower = 2;
  options.kernel = "gather";
  auto other = find_plan(problem, options, target, first).plan;
  const bool fast = other->predicted_seconds() < much_slower * best->predicted_seconds();
  return fast && cuda::can_run_in_turns(*other, count) ? other : nullptr;
}

std::optional<Together> together(const std::vector<shards::Piece>& pieces, const void* src,
                                 const std::vector<void*>& dst, const Sending& how) {
  if (pieces.size() > Turns::most) return std::nullopt;
  Problem problem = pieces.front().problem;
  Together found;
  found.turns.count = static_cast<int>(pieces.size());
  found.first.src = static_cast<const std::byte*>(src) + std::exchange(problem.src_offset, 0);
  found.first.dst =
      static_cast<std::byte*>(dst[at(pieces.front().to)]) + std::exchange(problem.dst_offset, 0);
  const auto address = [](const void* pointer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  };
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Problem& own = pieces[k].problem;
    found.turns.src[k] = address(src) + own.src_offset - address(found.first.src);
    found.turns.dst[k] = address(dst[at(pieces[k].to)]) + own.dst_offset - address(found.first.dst);
    // All have the alignment of the first.
    if ((found.turns.src[k] | found.turns.dst[k]) % 16 != 0) return std::nullopt;
  }
  found.plan = plan_in_turns(problem, how, found.first, found.turns.count);
  if (found.plan == nullptr) return std::nullopt;
  return found;
}

// Whether all groups could be sent that way; else nothing has been.
bool send_in_turns(const std::vector<std::vector<shards::Piece>>& groups, const void* src,
                   const std::vector<void*>& dst, const Sending& how) {
  std::vector<Together> all;
  for (const auto& pieces : groups) {
    std::optional<Together> found = together(pieces, src, dst, how);
    if (!found) return false;
    all.push_back(std::move(*found));
  }
  for (const Together& each : all) {
    cuda::execute_in_turns(*each.plan, each.first, each.turns,
                           static_cast<cuda::Stream>(how.stream));
  }
  return !all.empty();
}

// ---- The devices of one process

// The shards of a call, by device.
struct ShardedCall {
  const Redistribution& what;
  std::span<const View> dst;
  std::span<const ConstView> src;
};

std::string name_of_shard(const char* list, int device) {
  return fmt::format("{}[{}]", list, device);
}

template <class AnyView>
void check_shard(const AnyView& view, const std::string& name, ElementType type,
                 const Numbers& wanted) {
  if (view.type != type) {
    refuse(
        fmt::format("{} has elements of {}, but {}[0] of {}: all shards of an array have one type",
                    name, view.type.name(), name.substr(0, 3), type.name()));
  }
  if (view.shape != wanted) {
    refuse(fmt::format("{}.shape = ({}), but its layout gives it ({})", name,
                       fmt::join(view.shape, ", "), fmt::join(wanted, ", ")));
  }
  const bool empty = std::find(wanted.begin(), wanted.end(), 0) != wanted.end();
  if (!empty && view.data == nullptr) refuse(name + " = null, but it has elements");
}

// A shard, and the bytes that it reaches.
struct Reached {
  std::string name;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

Reached reached(const std::string& name, const void* data, const Reach& reach) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return {name, address + static_cast<std::uintptr_t>(reach.low),
          address + static_cast<std::uintptr_t>(reach.high)};
}

void check_apart(const Reached& a, const Reached& b) {
  if (a.begin < b.end && b.begin < a.end) refuse(a.name + " and " + b.name + " overlap in memory");
}

void check_shards(const ShardedCall& call) {
  std::vector<Reached> written, read;
  const ElementType src_type = call.src[0].type, dst_type = call.dst[0].type;
  for (int device = 0; device < call.what.devices(); ++device) {
    const View& dst = call.dst[at(device)];
    const ConstView& src = call.src[at(device)];
    const std::string dst_name = name_of_shard("dst", device);
    const std::string src_name = name_of_shard("src", device);
    check_shard(dst, dst_name, dst_type, call.what.dst().shards[at(device)].shape());
    check_shard(src, src_name, src_type, call.what.src().shards[at(device)].shape());
    // Strides are refused as a copy from or to a packed array refuses them.
    const Problem into = make_problem(dst, ConstView(nullptr, dst_type, dst.shape));
    const Problem from = make_problem(View(nullptr, src_type, src.shape), src);
    if (into.elements() > 0) written.push_back(reached(dst_name, dst.data, dst_reach(into)));
    if (from.elements() > 0) read.push_back(reached(src_name, src.data, src_reach(from)));
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t k = i + 1; k < written.size(); ++k) check_apart(written[i], written[k]);
    for (const Reached& other : read) check_apart(written[i], other);
  }
}

// The GPU of every device; empty: all shards lie in host memory.
std::vector<int> gpus_of(const ShardedCall& call) {
  using Kind = cuda::Place::Kind;
  std::vector<int> gpus(call.src.size(), -1);
  int on_host = 0, on_gpu = 0;
  for (int device = 0; device < call.what.devices(); ++device) {
    const auto look = [&](const char* list, const void* data, const Extents& shape) {
      if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
      const cuda::Place place = cuda::place_of(data);
      if (place.kind == Kind::managed) {
        refuse(
            fmt::format("{} = {} is managed memory: shards lie in the memory of a GPU or of the "
                        "host",
                        name_of_shard(list, device), data));
      }
      ++(place.kind == Kind::host ? on_host : on_gpu);
      if (on_host > 0 && on_gpu > 0) {
        refuse(fmt::format("{} = {} is {} memory: all shards lie on GPUs, or all on the host",
                           name_of_shard(list, device), data,
                           place.kind == Kind::host ? "host" : "a GPU's"));
      }
      int& gpu = gpus[at(device)];
      if (place.kind == Kind::host) return;
      if (gpu >= 0 && gpu != place.device) {
        refuse(
            fmt::format("{} = {} is memory of GPU {}, but the device's shard of the array lies "
                        "on GPU {}",
                        name_of_shard(list, device), data, place.device, gpu));
      }
      gpu = place.device;
    };
    look("src", call.src[at(device)].data, call.src[at(device)].shape);
    look("dst", call.dst[at(device)].data, call.dst[at(device)].shape);
  }
  if (on_gpu == 0) return {};
  return gpus;
}

struct Receivers {
  explicit Receivers(std::span<const View> dst) {
    for (const View& view : dst) {
      data.push_back(view.data);
      strides.push_back(view.strides);
    }
  }
  std::vector<void*> data;
  std::vector<Numbers> strides;
};

// Streams of different GPUs, which wait for each other by events alone.
class OnGpus {
 public:
  OnGpus(const ShardedCall& call, const std::vector<int>& gpus, const std::vector<void*>& streams)
      : call_(call), gpus_(gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      streams_.push_back(streams.empty() ? nullptr : static_cast<cuda::Stream>(streams[i]));
    }
  }

  void run(const std::string& route) {
    allow();
    const std::vector<cuda::Event> ready = events();
    const shards::Runs runs = shards::runs_of(call_.what);
    const Receivers to_all(call_.dst);
    for (int from = 0; from < devices(); ++from) {
      if (gpus_[at(from)] < 0) continue;
      const cuda::CurrentGpu current(gpus_[at(from)]);
      for (int to = 0; to < devices(); ++to) {
        if (moves(from, to)) ready[at(to)].hold(streams_[at(from)]);
      }
      const ConstView& src = call_.src[at(from)];
      Sending how;
      how.gpu = gpus_[at(from)];
      how.stream = streams_[at(from)];
      how.route = route_of(route, runs, cuda::machine_of(how.gpu).name(), "options.route");
      send(work_for(call_.what, from, src.strides, to_all.strides, how.route, true), from, src.data,
           to_all.data, how);
    }
    const std::vector<cuda::Event> done = events();
    for (int to = 0; to < devices(); ++to) {
      if (gpus_[at(to)] < 0) continue;
      const cuda::CurrentGpu current(gpus_[at(to)]);
      for (int from = 0; from < devices(); ++from) {
        if (moves(from, to)) done[at(from)].hold(streams_[at(to)]);
      }
    }
  }

 private:
  int devices() const { return call_.what.devices(); }
  bool moves(int from, int to) const {
    return from != to && call_.what.message_elements(from, to) > 0;
  }

  void allow() const {
    for (int from = 0; from < devices(); ++from) {
      for (int to = 0; to < devices(); ++to) {
        if (!moves(from, to)) continue;
        cuda::allow_access(gpus_[at(from)], gpus_[at(to)], call_.dst[at(to)].data);
      }
    }
  }

  // Where every device's stream is now.
  std::vector<cuda::Event> events() const {
    std::vector<cuda::Event> all;
    for (int device = 0; device < devices(); ++device) {
      std::optional<cuda::CurrentGpu> current;
      if (gpus_[at(device)] >= 0) current.emplace(gpus_[at(device)]);
      all.emplace_back();
      if (current) all.back().record(streams_[at(device)]);
    }
    return all;
  }

  const ShardedCall& call_;
  const std::vector<int>& gpus_;
  std::vector<cuda::Stream> streams_;
};

// Values are converted where the types differ. Other elements are bytes, whatever they mean.
shards::Items items_of(ElementType dst, ElementType src) {
  const Problem one = make_problem(View(nullptr, dst, {}), ConstView(nullptr, src, {}));
  if (one.converts()) return {src, dst};
  return {ElementType::bytes(src.size()), ElementType::bytes(src.size())};
}

}  // namespace

ShardRoute route_of(std::string_view name, const shards::Runs& runs, std::string_view gpu_name,
                    const char* argument) {
  if (name == "one pass") return ShardRoute::one_pass;
  if (name == "copy engines") return ShardRoute::copy_engines;
  if (!name.empty()) {
    refuse(
        fmt::format("{} = '{}' is no route between GPUs of one host: use 'one pass' or 'copy "
                    "engines'",
                    argument, visible(std::string(name))));
  }
  return shards::engines_pay(runs, shards::host_with(gpu_name)) ? ShardRoute::copy_engines
                                                                : ShardRoute::one_pass;
}

SenderWork work_for(const Redistribution& what, int from, const Numbers& src_strides,
                    const std::vector<Numbers>& dst_strides, ShardRoute route, bool on_gpu) {
  SenderWork work;
  // Kernels take turns; copy engines do not keep them waiting.
  const bool by_kernels = on_gpu && route == ShardRoute::one_pass;
  if (by_kernels) work.alike = shards::alike_pieces_of(what, from, src_strides, dst_strides);
  work.pieces =
      shards::pieces_of(what, from, src_strides, dst_strides,
                        by_kernels ? bytes_of_turn : std::numeric_limits<std::int64_t>::max());
  return work;
}

void send(const SenderWork& work, int from, const void* src, const std::vector<void*>& dst,
          const Sending& how) {
  const std::vector<shards::Piece>& pieces = work.pieces;
  if (how.gpu < 0) {
    for (const auto& piece : pieces) {
      copy_piece(piece.problem, dst[at(piece.to)], src, how, nullptr);
    }
    return;
  }
  if (send_in_turns(work.alike, src, dst, how)) return;
  cuda::Branches branches(static_cast<cuda::Stream>(how.stream));
  auto left = static_cast<int>(pieces.size());
  for (const auto& piece : pieces) {
    // The last one is on the trunk, so that a single one needs no branch.
    const cuda::Stream stream = branches[--left];
    void* const to = dst[at(piece.to)];
    if (how.route == ShardRoute::copy_engines && piece.to != from &&
        cuda::engines_can(piece.problem)) {
      cuda::copy_by_engines(piece.problem, to, src, stream);
    } else {
      copy_piece(piece.problem, to, src, how, stream);
    }
  }
  branches.join();
}

void redistribute(std::span<const View> dst, std::span<const ConstView> src, const Resharding& what,
                  const ReshardingOptions& options) {
  const auto devices = static_cast<std::size_t>(shards::devices_of(what.mesh));
  for (const auto& [name, size] : {std::pair{"dst", dst.size()}, std::pair{"src", src.size()}}) {
    if (size == devices) continue;
    refuse(fmt::format("{} has {} shards, but mesh = ({}) has {} devices", name, size,
                       fmt::join(what.mesh, ", "), devices));
  }
  if (!options.streams.empty() && options.streams.size() != devices) {
    refuse(fmt::format("options.streams has {} streams, but mesh = ({}) has {} devices",
                       options.streams.size(), fmt::join(what.mesh, ", "), devices));
  }
  std::vector<int> permutation = what.permutation;
  if (permutation.empty()) {
    permutation.resize(what.shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
  }
  const auto layout = [&](const std::string& text, const Extents& shape, const char* argument) {
    return shards::placed(shape, what.mesh, shards::parse_placements(text, argument), argument);
  };
  const Redistribution made(layout(what.src, what.shape, "src"),
                            layout(what.dst, permuted(what.shape, permutation), "dst"), permutation,
                            items_of(dst[0].type, src[0].type));
  const ShardedCall call{made, dst, src};
  check_shards(call);
  const std::vector<int> gpus = gpus_of(call);
  if (!gpus.empty()) return OnGpus(call, gpus, options.streams).run(options.route);
  Sending how;
  how.threads = options.threads;
  how.route = route_of(options.route, shards::runs_of(made), "", "options.route");
  const Receivers to_all(dst);
  for (int from = 0; from < made.devices(); ++from) {
    const ConstView& mine = src[at(from)];
    send(work_for(made, from, mine.strides, to_all.strides, how.route, false), from, mine.data,
         to_all.data, how);
  }
}

}  // namespace cornerturn
