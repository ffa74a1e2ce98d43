// pack: a box of the tensor goes through shared memory, in long pieces on both sides. Values may
// change their type.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/pack.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/pack/box.hpp"
#include "plan/gpu/roofline.hpp"

namespace cornerturn::plan::gpu {

struct PackConfig {
  std::int32_t run_bytes = 0;  ///< what a run of a box should have in the source
  std::int8_t dst_shift = 0;   ///< runs of the destination have 2^dst_shift times as much
  std::int16_t threads = 256;  ///< of a block
  bool anywhere = false;       ///< where runs begin, else they are aligned to 16 bytes
  bool gaps = false;           ///< between the pieces of a run of the source
  bool shares = false;         ///< boxes share what lies in the sectors where their runs meet
  bool prefetches = false;     ///< the sectors that rows of the destination leave in part

  friend bool operator==(const PackConfig&, const PackConfig&) = default;
};

namespace pack {

/// The boxes of a problem: but for what they share, their runs end with a sector, or, where such
/// boxes are too large, with a vector. Where these are too large too, runs end anywhere if they
/// begin anywhere.
class Boxes {
 public:
  explicit Boxes(const Problem& normal) : normal_(normal), sides_(normal) {}

  /// Valid until another one has to be made.
  const Box& of(const PackConfig& config);
  bool may_have_gaps() const { return gpu::may_have_gaps(normal_, sides_); }
  /// Whether there may be a box all of whose runs begin at multiples of 16 bytes.
  bool may_be_aligned(const Alignment& start = {}) const;
  /// Whether there may be a box whose runs of the destination have gaps between them.
  bool may_leave_gaps() const { return !is_dense(normal_, sides_.dst); }

 private:
  const Problem& normal_;
  BoxSides sides_;
  struct Cached {
    BoxWish wish;  // that the box was made for
    Box box;
  };
  std::array<Cached, 2> cached_;  // the last ones: the planner asks for both forms in turns
  std::size_t next_ = 0;          // which is made anew
};

struct Family {
  static constexpr std::string_view name = "pack";
  static constexpr std::string_view idea =
      "boxes contiguous in pieces on both sides, gathered through a table";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = PackConfig;
  using Args = kernels::PackArgs;
  using Common = Boxes;
  struct Costs {
    // The form whose runs begin anywhere.
    Cost load{"load", 102, "instructions for each vector that is loaded"};
    Cost lane{"lane", 19.81, "instructions for each unit that is stored"};
    Cost axis{"axis", 22.34, "instructions of a thread for each mode that boxes cut"};
    Cost entry_digit{"entry_digit", 10.57,
                     "instructions for each digit of the place of an element of a run"};
    Cost most_moved{"most_moved", 2.431,
                    "times the destination's bytes: at most, where it has gaps"};
    Cost edge{"edge", 57.86, "instructions for each element that may lie in no whole unit"};
    Cost barriers{"barriers", 0.007945,
                  "as the shared `barriers`: two barriers a box, more between them"};
    Cost run_digit{"run_digit", 13.4, "instructions for each digit of a run's place"};
    Cost wavefront{"wavefront", 0.4403, "wavefronts for each that the layout asks for"};
    Cost block{"block", 3.233e-06, "seconds of a block that is alone"};
    // The aligned form.
    Cost aligned_element{"aligned_element", 5.773, "instructions for each element that is stored"};
    Cost aligned_barriers{"aligned_barriers", 0.1728, "as `barriers`"};
    Cost aligned_block{"aligned_block", 2.979e-06, "seconds of a block that is alone"};
    // Values that change, as measured of six pairs of types in the aligned form.
    Cost change_work{"change_work", 1.5, "times the instructions"};
    Cost narrow_block{"narrow_block", 3, "times the time of a block where elements become smaller"};
    Cost wide_block{"wide_block", 1.4, "times the time of a block where they do not"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        Common& boxes, const Add<Config>& add);
  static Demand demand(const Config& config, const Problem& normal, const Model& model,
                       const Costs& costs, Common& boxes);
  static constexpr bool has_least_demand = true;
  static Demand least_demand(const Alignment& start, const Problem& normal, const Model& model,
                             const Costs& costs, const Common& boxes);
  static Demand least_demand(const Config& config, const Problem& normal, const Model& model,
                             const Costs& costs, Common& boxes);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace pack
}  // namespace cornerturn::plan::gpu
