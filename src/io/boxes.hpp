// A box of an array on its way from a file to a file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "cornerturn/cornerturn.hpp"
#include "io/file_conversion.hpp"
#include "io/grid.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// Puts a box of the source into `buffer`, packed in the order of the source, and returns it as a
/// view.
ConstView read_box(const Problem& problem, const Source& source, const Box& box, std::byte* buffer,
                   Progress& progress);

/// Writes a box, packed in the order of the destination, to its place, converted by way of `work`,
/// which has room for the longest run.
void write_box(const Problem& problem, const Sink& sink, const Box& box, const std::byte* data,
               const FileConversion& conversion, std::byte* work, Progress& progress);

/// Writes a box that is converted already.
void write_converted_box(const Problem& problem, const Sink& sink, const Box& box,
                         const std::byte* data, const FileConversion& conversion,
                         Progress& progress);

/// Calls work(kernel). A forced kernel that takes the whole may refuse a sliver at the edge: that
/// is left to another.
void with_kernel(const std::string& kernel, const std::function<void(const std::string&)>& work);

/// copy(), alike.
void copy_box(const View& to, const ConstView& from, const Options& options,
              const Epilogue& epilogue = {});

}  // namespace cornerturn::io
