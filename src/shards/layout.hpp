// Layouts: how an array is spread over a mesh of devices, as what each device holds of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::shards {

using Numbers = std::vector<std::int64_t>;

/// The indices from `begin` to `end`, without `end`.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
  bool operator<(const Interval& other) const {
    return begin != other.begin ? begin < other.begin : end < other.end;
  }
};

/// Some of the indices of an axis: intervals that ascend and do not touch.
using Indices = std::vector<Interval>;

std::int64_t count(const Indices& indices);

/// What one device holds of an array: the elements whose index along every axis is one of these.
/// The device stores them in their order, as an array of its own.
struct Shard {
  std::vector<Indices> axes;

  /// The shape of the device's own array.
  Numbers shape() const;
  std::int64_t elements() const;
  bool operator==(const Shard&) const = default;
  bool operator<(const Shard& other) const { return axes < other.axes; }
};

/// What one dimension of a mesh does with an array. Its coordinates hold
///   axis < 0    all the same: the array is replicated along this dimension;
///   block = 0   one part each of an axis of n indices, of ceil(n / coordinates) indices; the last
///               parts may have fewer or none (DTensor's Shard);
///   block > 0   blocks of so many indices in rounds, of which coordinate `first` has the first one
///               (ScaLAPACK's block-cyclic layout).
/// Where several dimensions split one axis, each splits what those before it have left.
struct Placement {
  int axis = -1;
  std::int64_t block = 0;
  std::int64_t first = 0;

  friend bool operator==(const Placement&, const Placement&) = default;
};
using Placements = std::vector<Placement>;

/// An array that is spread over devices. Two devices hold the same elements, or none in common, and
/// every element is held by one at least.
struct Layout {
  Numbers shape;
  std::vector<Shard> shards;  ///< of every device, in the order of the mesh
  std::string text;           ///< what the caller said of it

  int devices() const { return static_cast<int>(shards.size()); }
  friend bool operator==(const Layout& a, const Layout& b) {
    return a.shape == b.shape && a.shards == b.shards;
  }
};

/// The number of devices of a mesh. Throws unless all its dimensions are positive, and they have
/// 2^20 devices at most.
int devices_of(const Numbers& mesh);

/// One placement for each dimension of the mesh, whose devices are numbered with the last dimension
/// fastest. `argument` is what errors call the placements: "src".
Layout placed(const Numbers& shape, const Numbers& mesh, const Placements& placements,
              std::string_view argument);

/// Each device holds one box, [begin, end) along every axis.
struct Bounds {
  Numbers begin;
  Numbers end;
};
/// Throws where a box leaves the array, where boxes overlap that are not the same, or where they do
/// not cover the array.
Layout boxes(const Numbers& shape, const std::vector<Bounds>& devices, std::string_view argument);

/// "S0,R": one placement for each dimension of a mesh, S<axis>, S<axis>:<block>, which is
/// block-cyclic, S<axis>:<block>@<first>, or R.
Placements parse_placements(std::string_view text, std::string_view argument);
std::string to_string(const Placements& placements);

}  // namespace cornerturn::shards
