// What the tests of the GPU engine's kernels share: the configurations that the planner offers, in
// the emulator, all elements compared, every byte of the destination written exactly once, nothing
// else touched.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "core/validate.hpp"
#include "plan/gpu/gather/chunks.hpp"
#include "plan/gpu/gather/repeated.hpp"
#include "plan/gpu/gather/units.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "plan/gpu/parts.hpp"
#include "plan/planner.hpp"
#include "support.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::simt {

using plan::Candidate;
using plan::Candidates;
using plan::Plan;
using plan::gpu::DeviceInfo;

inline DeviceInfo some_device() {
  DeviceInfo device;
  device.name = "test device";
  device.arch = 90;
  device.sm_count = 1;  // so that small problems have many blocks for it
  device.clock_hz = 1.7e9;
  device.copy_bandwidth = 4.25e12;
  device.launch_seconds = 0;  // so that small problems may take several launches
  device.l2_bytes = 50 << 20;
  device.shared_per_sm = 228 << 10;
  device.shared_per_block = 227 << 10;
  device.threads_per_sm = 2048;
  device.blocks_per_sm = 32;
  return device;
}

void for_each_index(const Problem& problem, const auto& visit) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem.rank()), 0);
  for (std::int64_t n = problem.elements(); n > 0; --n) {
    std::int64_t from = problem.src_offset, to = problem.dst_offset;
    for (int i = 0; i < problem.rank(); ++i) {
      from += index[static_cast<std::size_t>(i)] * problem.modes[i].src_stride;
      to += index[static_cast<std::size_t>(i)] * problem.modes[i].dst_stride;
    }
    visit(from, to);
    for (int i = problem.rank(); i-- > 0;) {
      if (++index[static_cast<std::size_t>(i)] < problem.modes[i].extent) break;
      index[static_cast<std::size_t>(i)] = 0;
    }
  }
}

// All candidates.
inline constexpr int each = -1;

// One candidate of every kernel, another one the next turn.
inline Candidates in_turn(const Candidates& all, int turn) {
  Candidates some;
  for (const auto& row : plan::gpu_registry()) {
    Candidates own;
    std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                 [&](const Candidate& candidate) { return candidate.row == &row; });
    if (!own.empty()) some.push_back(own[static_cast<std::size_t>(turn) % own.size()]);
  }
  return some;
}

// Units of gather are candidates of problems that would take long here.
inline void add_units(const Plan& plan, Candidates& candidates) {
  using plan::gpu::gather::Family;
  if (plan.normal.converts() || !plan::gpu::gather::takes_units(plan.normal)) return;
  const auto& rows = plan::gpu_registry();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& one) { return one.name == Family::name; });
  Alignment start = plan.alignment;
  start.dst = std::gcd(start.dst, plan.normal.dst_offset);
  const std::int16_t granule = plan::gpu::gather::granule_of_rows(plan.normal, start);
  candidates.push_back({&*row, plan::gpu::GatherConfig{plan::gpu::GatherForm::units, granule}, {}});
}

// So are chunks, of two sizes: rows may be whole chunks, or not.
inline void add_chunks(const Plan& plan, Candidates& candidates) {
  using namespace plan::gpu;
  if (!gather::takes_chunks(plan.normal)) return;
  const auto& rows = plan::gpu_registry();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& one) { return one.name == gather::Family::name; });
  for (const int chunk : {4, 7}) {
    candidates.push_back({&*row, GatherConfig{GatherForm::several, 0, chunk}, {}});
    if (!gather::can_repeat(plan.normal)) continue;
    candidates.push_back({&*row, GatherConfig{GatherForm::repeated, 0, chunk}, {}});
  }
}

// Boxes of pack share sectors in problems that would take long here.
inline void add_shared(const Plan& plan, Candidates& candidates) {
  using namespace plan::gpu::pack;
  Candidates added;
  for (const Candidate& candidate : candidates) {
    if (candidate.row->name != Family::name) continue;
    auto config = candidate.config.as<plan::gpu::PackConfig>();
    config.shares = true;
    const plan::gpu::Box box = Boxes(plan.normal).of(config);
    if (box.shared == 0 || !fits(box, plan.normal, some_device(), true)) continue;
    added.push_back({candidate.row, config, {}});
  }
  candidates.insert(candidates.end(), added.begin(), added.end());
}

// So have boxes of pack whose runs are longer on one side: the largest of either form.
inline void add_uneven(const Plan& plan, Candidates& candidates) {
  using namespace plan::gpu::pack;
  const auto& rows = plan::gpu_registry();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& one) { return one.name == Family::name; });
  const bool may_be_aligned = plan.alignment.src >= vector && plan.alignment.dst >= vector &&
                              plan.normal.dst_offset % vector == 0;
  for (const bool anywhere : {false, true}) {
    if (!anywhere && !may_be_aligned) continue;
    for (const int shift : {-2, 2}) {
      plan::gpu::PackConfig config{.dst_shift = static_cast<std::int8_t>(shift)};
      config.anywhere = anywhere;
      plan::gpu::PackConfig largest;
      for (config.run_bytes = 64; config.run_bytes <= 4096; config.run_bytes *= 2) {
        const plan::gpu::Box box = Boxes(plan.normal).of(config);
        if (!fits(box, plan.normal, some_device(), anywhere)) continue;
        if (!anywhere && (!has_aligned_runs(box, plan.normal) ||
                          piece_of(box, plan.normal, config).vectors == 0)) {
          continue;
        }
        largest = config;
      }
      if (largest.run_bytes > 0) candidates.push_back({&*row, largest, {}});
    }
  }
}

// Runs the candidates of a turn, or all of a kernel that must take the problem.
inline void run_and_compare(const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase,
                            const std::string& kernel = {}, int turn = each) {
  if (problem.elements() == 0) return;
  Side src(src_reach(problem), src_phase);
  const Reach reach = dst_reach(problem);
  Side dst(reach, dst_phase);
  std::uint64_t state = 7;
  for (std::int64_t i = 0; i < src.bytes; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    src.first[i] = static_cast<std::byte>(state >> 56);
  }
  const auto size = static_cast<std::size_t>(problem.dst_type.size());
  std::vector<std::byte> expected(static_cast<std::size_t>(dst.bytes), std::byte{0xa5});
  for_each_index(problem, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(&expected[static_cast<std::size_t>(to - reach.low)], src.zero + from, size);
  });

  Plan plan = plan::make_plan(problem, some_device(),
                              {1, kernel, {true, alignment_of(src.zero), alignment_of(dst.zero)}});
  Emulator emulator;
  const bool packed = problem.bytes() == dst.bytes;
  Candidates candidates = turn == each ? plan.candidates : in_turn(plan.candidates, turn);
  if (kernel.empty() || kernel == "gather") add_units(plan, candidates);
  if (kernel == "gather") add_chunks(plan, candidates);
  if (kernel == "pack") {
    add_uneven(plan, candidates);
    add_shared(plan, candidates);
  }
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(std::string(candidate.row->name) + ": " + describe(candidate, plan.normal) + "; " +
                 to_string(problem) + " -> " + to_string(plan.normal) + " phases " +
                 std::to_string(src_phase) + ", " + std::to_string(dst_phase));
    plan.choose(candidate, plan::Choice::forced);
    std::memset(dst.first, 0xa5, static_cast<std::size_t>(dst.bytes));
    emulator.clear();
    emulator.input("src", src.first, static_cast<std::size_t>(src.bytes));
    if (candidate.row->parts == nullptr && !plan.ready.then) {
      // Gaps in the destination are nobody's: only the elements are outputs that must be written.
      emulator.output("dst", dst.first, static_cast<std::size_t>(dst.bytes));
    } else {  // Each launch writes a part, and later parts may read what earlier ones have written.
      emulator.update("dst", dst.first, static_cast<std::size_t>(dst.bytes));
    }
    const Mode mode = kernel.empty() ? Mode::fast : Mode::recording;
    plan::gpu::for_each_part(plan, {dst.zero, src.zero}, [&](const Plan& part, const Buffers& its) {
      execute(emulator, part, its, mode);
      for (const Finding& finding : emulator.findings()) {
        if (!packed && finding.kind == FindingKind::never_written) continue;
        // A vector of the first copy may end in the next one. What it has of that goes nowhere.
        if (candidate.row->parts != nullptr && finding.kind == FindingKind::race) continue;
        ADD_FAILURE() << finding.message();
      }
    });
    const auto wrong = std::mismatch(expected.begin(), expected.end(), dst.first).first;
    if (wrong != expected.end()) {
      ADD_FAILURE() << "differs first at byte " << wrong - expected.begin();
    }
    if (testing::Test::HasFailure()) return;
  }
}

inline Problem problem_of(int size, const ModeList& modes) {
  Problem problem;
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  problem.modes = modes;
  return problem;
}

// A b rows and c d columns in reverse: groups of one mode and of two on either side.
inline Problem reversed(int size, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return problem_of(size, {{d, size, a * b * c * size},
                           {c, d * size, a * b * size},
                           {b, c * d * size, a * size},
                           {a, b * c * d * size, size}});
}

inline bool takes_chunks(const Problem& problem) {
  return plan::gpu::gather::takes_chunks(plan::make_plan(problem, some_device(), {}).normal);
}

inline bool takes_units(const Problem& problem) {
  return plan::gpu::gather::takes_units(plan::make_plan(problem, some_device(), {}).normal);
}

}  // namespace cornerturn::simt
