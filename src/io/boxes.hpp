// A box of an array on its way from a file to a file.
#pragma once

#include <cstddef>

#include "cornerturn/cornerturn.hpp"
#include "io/grid.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// Puts a box of the source into `buffer`, packed in the order of the source, and returns it as a
/// view.
ConstView read_box(const Problem& problem, const Source& source, const Box& box, std::byte* buffer,
                   Progress& progress);

/// Writes a box, packed in the order of the destination, to its place.
void write_box(const Problem& problem, const Sink& sink, const Box& box, const std::byte* data,
               Progress& progress);

/// copy(); a forced kernel that takes the whole may refuse a sliver at the edge: that is left to
/// another.
void copy_box(const View& to, const ConstView& from, const Options& options);

}  // namespace cornerturn::io
