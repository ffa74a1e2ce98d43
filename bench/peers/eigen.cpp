// Eigen: Tensor::shuffle, which is faster than `b = a.transpose()` on large matrices and has
// threads; the assignment of matrices where strides have gaps.
#define EIGEN_USE_THREADS
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <unsupported/Eigen/CXX11/Tensor>

#include "geometry.hpp"
#include "peer_main.hpp"

namespace cornerturn::bench {
namespace {

constexpr int max_rank = 6;

// What a shuffle needs: the source's shape, slowest first, and where each of the destination's
// modes is found in it.
struct Shuffle {
  std::vector<std::int64_t> src_shape;
  std::vector<std::int64_t> dst_shape;
  std::vector<int> permutation;
};

Shuffle make_shuffle(const std::vector<PeerMode>& modes) {
  std::vector<int> by_source(modes.size());
  std::iota(by_source.begin(), by_source.end(), 0);
  const auto mode = [&](int i) -> const PeerMode& { return modes[static_cast<std::size_t>(i)]; };
  std::sort(by_source.begin(), by_source.end(),
            [&](int a, int b) { return mode(a).src_stride > mode(b).src_stride; });
  Shuffle out;
  for (const int i : by_source) out.src_shape.push_back(mode(i).extent);
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const auto at = std::find(by_source.begin(), by_source.end(), static_cast<int>(i));
    out.permutation.push_back(static_cast<int>(at - by_source.begin()));
    out.dst_shape.push_back(modes[i].extent);
  }
  return out;
}

class EigenSubject : public Subject {
 public:
  std::string name() const override { return "eigen"; }

  std::string version() const override {
    return fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  }

  std::map<std::string, std::string> details() const override {
    return {{"flags", "-O3 -march=native"},
            {"instruction_sets", Eigen::SimdInstructionSetsInUse()}};
  }

  std::string prepare(const Case& c, int threads, const std::byte*, std::byte*) override {
    case_ = c;
    modes_ = joined_modes(c);
    while (modes_.size() < 2) modes_.insert(modes_.begin(), PeerMode{1, 0, 0});
    if (threads > 1 && (pool_ == nullptr || pool_->NumThreads() != threads)) {
      device_.reset();
      pool_ = std::make_unique<Eigen::ThreadPool>(threads);
      device_ = std::make_unique<Eigen::ThreadPoolDevice>(pool_.get(), threads);
    }
    if (c.element_bytes != 1 && c.element_bytes != 2 && c.element_bytes != 4 &&
        c.element_bytes != 8) {
      return "measured with elements of 1, 2, 4 and 8 bytes";
    }
    const bool packed = source_is_packed(modes_) && destination_is_packed(modes_);
    as_matrix_ = modes_.size() == 2 && !packed;
    if (as_matrix_) return "";
    if (!packed) return "Eigen's shuffle needs packed tensors";
    if (modes_.size() > max_rank) {
      return fmt::format("rank {} after joining; measured up to {}", modes_.size(), max_rank);
    }
    shuffle_ = make_shuffle(modes_);
    return "";
  }

  void run(const std::byte* src, std::byte* dst) override {
    switch (case_.element_bytes) {
      case 1:
        return run_typed<std::uint8_t>(src, dst);
      case 2:
        return run_typed<std::uint16_t>(src, dst);
      case 4:
        return run_typed<float>(src, dst);
      default:
        return run_typed<double>(src, dst);
    }
  }

  std::string method() const override { return as_matrix_ ? "transpose" : "shuffle"; }

 private:
  template <class T>
  void run_typed(const std::byte* src, std::byte* dst) const {
    const T* a = reinterpret_cast<const T*>(src) + case_.src_offset;
    T* b = reinterpret_cast<T*>(dst) + case_.dst_offset;
    if (as_matrix_) return run_matrix(a, b);
    switch (shuffle_.permutation.size()) {
      case 2:
        return run_shuffle<2>(a, b);
      case 3:
        return run_shuffle<3>(a, b);
      case 4:
        return run_shuffle<4>(a, b);
      case 5:
        return run_shuffle<5>(a, b);
      default:
        return run_shuffle<6>(a, b);
    }
  }

  // Row-major views of both sides; unit strides are known at compile time where there are any.
  template <class T>
  void run_matrix(const T* a, T* b) const {
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Outer = Eigen::OuterStride<>;
    using Any = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    const PeerMode& row = modes_[0];
    const PeerMode& column = modes_[1];
    if (row.src_stride == 1 && column.dst_stride == 1) {
      const Eigen::Map<const Matrix, 0, Outer> in(a, column.extent, row.extent,
                                                  Outer(column.src_stride));
      Eigen::Map<Matrix, 0, Outer> out(b, row.extent, column.extent, Outer(row.dst_stride));
      out = in.transpose();
    } else if (column.src_stride == 1 && column.dst_stride == 1) {
      const Eigen::Map<const Matrix, 0, Outer> in(a, row.extent, column.extent,
                                                  Outer(row.src_stride));
      Eigen::Map<Matrix, 0, Outer> out(b, row.extent, column.extent, Outer(row.dst_stride));
      out = in;
    } else {
      const Eigen::Map<const Matrix, 0, Any> in(a, row.extent, column.extent,
                                                Any(row.src_stride, column.src_stride));
      Eigen::Map<Matrix, 0, Any> out(b, row.extent, column.extent,
                                     Any(row.dst_stride, column.dst_stride));
      out = in;
    }
  }

  template <int Rank, class T>
  void run_shuffle(const T* a, T* b) const {
    std::array<Eigen::Index, Rank> src_shape;
    std::array<Eigen::Index, Rank> dst_shape;
    std::array<int, Rank> permutation;
    std::copy(shuffle_.src_shape.begin(), shuffle_.src_shape.end(), src_shape.begin());
    std::copy(shuffle_.dst_shape.begin(), shuffle_.dst_shape.end(), dst_shape.begin());
    std::copy(shuffle_.permutation.begin(), shuffle_.permutation.end(), permutation.begin());
    using Input = Eigen::TensorMap<const Eigen::Tensor<T, Rank, Eigen::RowMajor>>;
    using Output = Eigen::TensorMap<Eigen::Tensor<T, Rank, Eigen::RowMajor>>;
    const Input in(a, src_shape);
    Output out(b, dst_shape);
    if (device_ != nullptr) {
      out.device(*device_) = in.shuffle(permutation);
    } else {
      out = in.shuffle(permutation);
    }
  }

  Case case_;
  std::vector<PeerMode> modes_;
  Shuffle shuffle_;
  bool as_matrix_ = false;
  std::unique_ptr<Eigen::ThreadPool> pool_;
  std::unique_ptr<Eigen::ThreadPoolDevice> device_;
};

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  cornerturn::bench::EigenSubject subject;
  return cornerturn::bench::peer_main(argc, argv, subject);
}
