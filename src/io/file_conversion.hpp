// Values that change on their way from a file to a file: after elements have found their order,
// while they are written, so that everything before moves them as they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/problem.hpp"
#include "cpu/convert_run.hpp"

namespace cornerturn::io {

class FileConversion {
 public:
  /// No conversion.
  FileConversion() = default;
  /// `bias` is added where epilogue.bias is set; it has no other vectors. Throws Error for types
  /// that cannot be converted.
  FileConversion(ElementType src, ElementType dst, const Epilogue& epilogue);

  bool converts() const noexcept { return function_ != nullptr; }
  int src_size() const noexcept { return problem_.src_type.size(); }
  int dst_size() const noexcept { return problem_.dst_type.size(); }
  ElementType src_type() const noexcept { return problem_.src_type; }
  ElementType dst_type() const noexcept { return problem_.dst_type; }
  /// Points into this conversion where there is a bias.
  Epilogue epilogue() const noexcept;
  bool is_stochastic() const noexcept {
    return converts() && problem_.values.rounding == Rounding::stochastic;
  }

  /// Bytes of the result for `bytes` of the source.
  std::int64_t result_bytes(std::int64_t bytes) const noexcept {
    return converts() ? bytes / src_size() * dst_size() : bytes;
  }

  /// `bytes` bytes of source elements become `out`. They stand from byte `offset` on in the whole,
  /// counted in source elements of the destination's order.
  void run(const std::byte* src, std::int64_t bytes, std::int64_t offset, std::byte* out) const;

  /// One element, by the plain loop that all kernels are checked against.
  void run_singly(const std::byte* src, std::int64_t offset, std::byte* out) const;

 private:
  void run_with(cpu::ConvertFunction function, const std::byte* src, std::int64_t count,
                std::int64_t offset, std::byte* out) const;

  Problem problem_;
  Epilogue epilogue_;
  float bias_ = 0;
  cpu::ConvertFunction function_ = nullptr;
};

}  // namespace cornerturn::io
