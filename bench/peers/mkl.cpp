// MKL: ?omatcopy for matrices, ?omatcopy2 with strided rows, ?omatcopy_batch_strided for batches.
#include <fmt/format.h>
#include <mkl.h>

#include <algorithm>
#include <cstdlib>

#include "geometry.hpp"
#include "peer_main.hpp"

namespace cornerturn::bench {
namespace {

// The functions for 4, 8 and 16-byte elements under one name.
void omatcopy(char op, std::size_t rows, std::size_t columns, const float* a, std::size_t lda,
              float* b, std::size_t ldb) {
  mkl_somatcopy('R', op, rows, columns, 1, a, lda, b, ldb);
}
void omatcopy(char op, std::size_t rows, std::size_t columns, const double* a, std::size_t lda,
              double* b, std::size_t ldb) {
  mkl_domatcopy('R', op, rows, columns, 1, a, lda, b, ldb);
}
void omatcopy(char op, std::size_t rows, std::size_t columns, const MKL_Complex16* a,
              std::size_t lda, MKL_Complex16* b, std::size_t ldb) {
  mkl_zomatcopy('R', op, rows, columns, {1, 0}, a, lda, b, ldb);
}
void omatcopy_batch(char op, std::size_t rows, std::size_t columns, const float* a, std::size_t lda,
                    std::size_t stride_a, float* b, std::size_t ldb, std::size_t stride_b,
                    std::size_t batch) {
  mkl_somatcopy_batch_strided('R', op, rows, columns, 1, a, lda, stride_a, b, ldb, stride_b, batch);
}
void omatcopy_batch(char op, std::size_t rows, std::size_t columns, const double* a,
                    std::size_t lda, std::size_t stride_a, double* b, std::size_t ldb,
                    std::size_t stride_b, std::size_t batch) {
  mkl_domatcopy_batch_strided('R', op, rows, columns, 1, a, lda, stride_a, b, ldb, stride_b, batch);
}
void omatcopy_batch(char op, std::size_t rows, std::size_t columns, const MKL_Complex16* a,
                    std::size_t lda, std::size_t stride_a, MKL_Complex16* b, std::size_t ldb,
                    std::size_t stride_b, std::size_t batch) {
  mkl_zomatcopy_batch_strided('R', op, rows, columns, {1, 0}, a, lda, stride_a, b, ldb, stride_b,
                              batch);
}
void omatcopy2(char op, std::size_t rows, std::size_t columns, const float* a, std::size_t lda,
               std::size_t step_a, float* b, std::size_t ldb, std::size_t step_b) {
  mkl_somatcopy2('R', op, rows, columns, 1, a, lda, step_a, b, ldb, step_b);
}
void omatcopy2(char op, std::size_t rows, std::size_t columns, const double* a, std::size_t lda,
               std::size_t step_a, double* b, std::size_t ldb, std::size_t step_b) {
  mkl_domatcopy2('R', op, rows, columns, 1, a, lda, step_a, b, ldb, step_b);
}
void omatcopy2(char op, std::size_t rows, std::size_t columns, const MKL_Complex16* a,
               std::size_t lda, std::size_t step_a, MKL_Complex16* b, std::size_t ldb,
               std::size_t step_b) {
  mkl_zomatcopy2('R', op, rows, columns, {1, 0}, a, lda, step_a, b, ldb, step_b);
}

// A batch of matrices: `rows` x `columns` of the source, each of which is copied or transposed.
struct MatrixCopy {
  char op = 'N';
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::size_t lda = 1;
  std::size_t step_a = 1;
  std::size_t ldb = 1;
  std::size_t step_b = 1;
  std::size_t batch = 1;
  std::size_t stride_a = 0;
  std::size_t stride_b = 0;
  bool batch_call = false;  ///< one call for the batch; otherwise one for each matrix

  const char* method() const {
    if (step_a != 1 || step_b != 1) return "omatcopy2";
    return batch == 1 ? "omatcopy" : batch_call ? "omatcopy_batch_strided" : "omatcopy, many calls";
  }
};

class MklSubject : public Subject {
 public:
  std::string name() const override { return "mkl"; }

  std::string version() const override {
    MKLVersion v;
    mkl_get_version(&v);
    return fmt::format("{}.{}.{}", v.MajorVersion, v.MinorVersion, v.UpdateVersion);
  }

  std::map<std::string, std::string> details() const override {
    MKLVersion v;
    mkl_get_version(&v);
    return {{"processor", v.Processor}, {"threading", "Intel OpenMP"}};
  }

  std::string prepare(const Case& c, int threads, const std::byte*, std::byte*) override {
    mkl_set_num_threads(threads);
    mkl_set_dynamic(0);
    if (c.element_bytes != 4 && c.element_bytes != 8 && c.element_bytes != 16) {
      return "MKL has elements of 4, 8 and 16 bytes";
    }
    case_ = c;
    std::vector<PeerMode> modes = joined_modes(c);
    for (const PeerMode& m : modes) {
      if (m.src_stride < 0 || m.dst_stride < 0) return "MKL has no negative strides";
    }
    if (modes.size() > 3) return "MKL has no tensors: matrices and batches of matrices only";
    while (modes.size() < 2) modes.insert(modes.begin(), PeerMode{1, 0, 0});
    copy_ = arrange(std::move(modes));
    if (copy_.step_a > 1 && copy_.lda <= copy_.columns * copy_.step_a) {
      return "omatcopy2 refuses a leading dimension without a gap";
    }
    return "";
  }

  void run(const std::byte* src, std::byte* dst) override {
    if (case_.element_bytes == 4) run_typed<float>(src, dst);
    if (case_.element_bytes == 8) run_typed<double>(src, dst);
    if (case_.element_bytes == 16) run_typed<MKL_Complex16>(src, dst);
  }

  std::string method() const override { return copy_.method(); }

 private:
  // The matrix is spanned by the fastest mode of the destination and that of the source; when they
  // are one, by it and the next one. What is left is the batch.
  static MatrixCopy arrange(std::vector<PeerMode> modes) {
    MatrixCopy out;
    const PeerMode inner = modes.back();
    modes.pop_back();
    const auto by_source = [](const PeerMode& a, const PeerMode& b) {
      return a.src_stride < b.src_stride;
    };
    auto fastest = std::min_element(modes.begin(), modes.end(), by_source);
    const bool transposes = fastest->extent > 1 && fastest->src_stride < inner.src_stride;
    if (!transposes) fastest = modes.end() - 1;
    const PeerMode other = *fastest;
    modes.erase(fastest);
    const auto size = [](std::int64_t v) { return static_cast<std::size_t>(v); };
    if (transposes) {
      // Rows of the source run along `other`, rows of the destination along `inner`.
      out.op = 'T';
      out.rows = size(inner.extent);
      out.columns = size(other.extent);
      out.lda = size(inner.src_stride);
      out.step_a = size(other.src_stride);
      out.ldb = size(other.dst_stride);
      out.step_b = size(inner.dst_stride);
    } else {
      out.rows = size(other.extent);
      out.columns = size(inner.extent);
      out.lda = std::max(size(other.src_stride), out.columns);
      out.step_a = size(inner.src_stride);
      out.ldb = std::max(size(other.dst_stride), out.columns);
      out.step_b = size(inner.dst_stride);
    }
    if (!modes.empty()) {
      out.batch = size(modes[0].extent);
      out.stride_a = size(modes[0].src_stride);
      out.stride_b = size(modes[0].dst_stride);
      const std::size_t rows_b = out.op == 'T' ? out.columns : out.rows;
      out.batch_call = out.stride_a >= out.lda * out.rows && out.stride_b >= out.ldb * rows_b &&
                       out.step_a == 1 && out.step_b == 1;
    }
    return out;
  }

  template <class T>
  void run_typed(const std::byte* src, std::byte* dst) const {
    const MatrixCopy& m = copy_;
    const T* a = reinterpret_cast<const T*>(src) + case_.src_offset;
    T* b = reinterpret_cast<T*>(dst) + case_.dst_offset;
    if (m.batch_call) {
      omatcopy_batch(m.op, m.rows, m.columns, a, m.lda, m.stride_a, b, m.ldb, m.stride_b, m.batch);
      return;
    }
    for (std::size_t i = 0; i < m.batch; ++i, a += m.stride_a, b += m.stride_b) {
      if (m.step_a == 1 && m.step_b == 1) {
        omatcopy(m.op, m.rows, m.columns, a, m.lda, b, m.ldb);
      } else {
        omatcopy2(m.op, m.rows, m.columns, a, m.lda, m.step_a, b, m.ldb, m.step_b);
      }
    }
  }

  Case case_;
  MatrixCopy copy_;
};

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  // Threads that spin after a parallel region would slow down the copies measured in between.
  setenv("KMP_BLOCKTIME", "0", 0);
  cornerturn::bench::MklSubject subject;
  return cornerturn::bench::peer_main(argc, argv, subject);
}
