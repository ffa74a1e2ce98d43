// pack: a box of the tensor goes through shared memory, in long pieces on both sides. Values may
// change their type.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/pack.hpp"
#include "plan/gpu/box.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"
#include "plan/gpu/family.hpp"

namespace cornerturn::plan::gpu {

struct PackConfig {
  std::int32_t run_bytes = 0;  ///< what a run of a box should have in the source
  std::int8_t longer = 0;      ///< in the destination 2^longer times as much
  std::int16_t threads = 256;  ///< of a block
  bool anywhere = false;       ///< where runs begin, else they are aligned to 16 bytes
  bool gaps = false;           ///< between the pieces of a run of the source
  bool apart = false;   ///< runs of the source end where the destination's turning_mode() begins
  bool shares = false;  ///< boxes share what lies in the sectors where their runs meet
  bool prefetches = false;  ///< the sectors that rows of the destination leave in part

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
  int turning_mode() const { return gpu::turning_mode(sides_); }
  bool may_have_gaps() const { return gpu::may_have_gaps(normal_, sides_); }
  /// Whether there may be a box all of whose runs begin at multiples of 16 bytes.
  bool may_be_aligned(const Alignment& start = {}) const;
  /// Whether there may be a box whose runs of the destination have gaps between them.
  bool may_leave_gaps() const { return !is_dense(normal_, sides_.dst); }

 private:
  const Problem& normal_;
  BoxSides sides_;
  struct Made {
    BoxWish wish;  // that the box was made for
    Box box;
  };
  std::array<Made, 2> made_;  // the last ones: the planner asks for both forms in turns
  std::size_t next_ = 0;      // which is made anew
};

struct Family {
  static constexpr std::string_view name = "pack";
  static constexpr std::string_view idea =
      "boxes contiguous in pieces on both sides, gathered through a table";
  static constexpr Operations operations{Operation::move, Operation::convert};
  using Config = PackConfig;
  using Args = kernels::PackArgs;
  using Facts = Boxes;
  struct Costs {
    // The form whose runs begin anywhere.
    Cost load{"load", 89.7, "instructions for each vector that is loaded"};
    Cost lane{"lane", 20.29, "instructions for each unit that is stored"};
    Cost element{"element", 0.2264, "instructions for each element of those"};
    Cost shifting{"shifting", 1.453,
                  "instructions more for a unit where runs begin at different places within one"};
    Cost thread{"thread", 89.69, "instructions of a thread"};
    Cost axis{"axis", 9.082, "instructions of a thread for each mode that boxes cut"};
    Cost column{"column", 8.15, "instructions for where the elements of a lane's units lie"};
    Cost column_digit{"column_digit", 0.6316, "instructions for each digit of that, more than two"};
    Cost entry{"entry", 51.64, "instructions for where an element of a run lies"};
    Cost entry_digit{"entry_digit", 4.297, "instructions for each digit of that"};
    Cost gap{"gap", 134.2, "bytes more for each run of the destination with a gap behind it"};
    Cost gap_prefetched{"gap_prefetched", 20,
                        "bytes more for such a run whose cut sectors are prefetched"};
    Cost gap_alone{"gap_alone", 110,
                   "bytes more for such a run that a box has without its neighbours"};
    Cost piece_alone{"piece_alone", 200,
                     "aligned: bytes more for what a sparse row has behind its whole vectors"};
    Cost shared_again{"shared_again", 0.08742,
                      "share of what two boxes read that the L2 has lost meanwhile"};
    Cost most_moved{"most_moved", 2.953,
                    "times the destination's bytes: at most, where it has gaps"};
    Cost edge{"edge", 32.02, "instructions for each element that may lie in no whole unit"};
    Cost barriers{"barriers", 0.0123,
                  "as the shared `barriers`: two barriers a box, more between them"};
    Cost run_digit{"run_digit", 12.21, "instructions for each digit of a run's place"};
    Cost wavefront{"wavefront", 0.344, "wavefronts for each that the layout asks for"};
    Cost block{"block", 2.987e-06, "seconds of a block that is alone"};
    Cost block_lane{"block_lane", 6.663e-09, "seconds of such a block for each vector of a thread"};
    Cost block_unit{"block_unit", 3.971e-08, "seconds more for each unit of a thread"};
    // The aligned form.
    Cost aligned_load{"aligned_load", 0.4009, "instructions for each vector that is loaded"};
    Cost aligned_lane{"aligned_lane", 0.281, "instructions for each vector that is stored"};
    Cost aligned_element{"aligned_element", 6.115, "instructions for each element of those"};
    Cost aligned_thread{"aligned_thread", 35.58, "instructions of a thread"};
    Cost aligned_barriers{"aligned_barriers", 0.1969, "as `barriers`"};
    Cost aligned_wavefront{"aligned_wavefront", 0.7693,
                           "wavefronts for each that the layout asks for"};
    Cost aligned_block{"aligned_block", 2.672e-06, "seconds of a block that is alone"};
    Cost aligned_block_lane{"aligned_block_lane", 6.125e-08, "seconds for each vector of a thread"};
    // Values that change, as measured of six pairs of types in the aligned form.
    Cost change_work{"change_work", 1.5, "times the instructions"};
    Cost narrow_block{"narrow_block", 3, "times the time of a block where elements become smaller"};
    Cost wide_block{"wide_block", 1.4, "times the time of a block where they do not"};
    Cost any_value{"any_value", 400,
                   "instructions for an element of types known at run time alone"};
  };

  static const char* why_not(const Problem& normal, const DeviceInfo& device);
  static void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                        Facts& boxes, const Add<Config>& add);
  static Estimate least(const Problem& normal, const Alignment& start, const Model& model,
                        const Costs& costs, const Facts& boxes);
  static Estimate estimate(const Config& config, const Problem& normal, const Model& model,
                           const Costs& costs, Facts& boxes);
  static std::string describe(const Config& config, const Problem& normal);
  static Launchable<Args> prepare(const Config& config, const Problem& normal);
};

}  // namespace pack
}  // namespace cornerturn::plan::gpu
