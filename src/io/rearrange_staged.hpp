// Carries a schedule out through stages: boxes are read into one, permuted and converted there by
// whatever it is, and written from it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cornerturn/epilogue.hpp"
#include "cornerturn/view.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// What becomes of a box in a stage.
struct BoxMove {
  ConstView from;  ///< as it lies in Stage::in(), where `data` points to
  ElementType to;  ///< the elements of Stage::out(), packed in the order of from's axes
  Epilogue epilogue;
  /// Where the first element is in the whole result, in elements: stochastic rounding needs to
  /// know. The box then is contiguous in the result.
  std::int64_t place = 0;

  std::int64_t elements() const;
  std::int64_t bytes_in() const { return elements() * from.type.size(); }
  std::int64_t bytes_out() const { return elements() * to.size(); }
};

/// That of a box that lies as `read` says, in elements of a schedule.
BoxMove box_move(const ConstView& read, const FileConversion& conversion, std::int64_t place = 0);

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::byte* in() const = 0;
  virtual const std::byte* out() const = 0;
  virtual void run(const BoxMove& move) const = 0;
};

/// One thread a stage. in() has room for the largest box, out() for what becomes of it. `first`,
/// when given, is called with the first box, on its stage, before the work begins.
void rearrange_staged(const Schedule& schedule, const Source& source, const Sink& sink,
                      const std::vector<std::unique_ptr<Stage>>& stages, Progress& progress,
                      const FileConversion& conversion,
                      const std::function<void(const Stage&, const BoxMove&)>& first = {});

}  // namespace cornerturn::io
