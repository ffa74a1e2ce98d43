#include "io/file_conversion.hpp"

#include "core/validate.hpp"
#include "cpu/convert_vector.hpp"

namespace cornerturn::io {

FileConversion::FileConversion(ElementType src, ElementType dst, const Epilogue& epilogue)
    : epilogue_(epilogue) {
  problem_ = make_problem(View(nullptr, dst, {1}), ConstView(nullptr, src, {1}), epilogue);
  if (epilogue.bias != nullptr) bias_ = *epilogue.bias;
  if (problem_.converts()) function_ = cpu::contiguous_convert_function(dst, src);
}

Epilogue FileConversion::epilogue() const noexcept {
  Epilogue epilogue = epilogue_;
  if (epilogue.bias != nullptr) epilogue.bias = &bias_;
  return epilogue;
}

void FileConversion::run(const std::byte* src, std::int64_t bytes, std::int64_t offset,
                         std::byte* out) const {
  run_with(function_, src, bytes / src_size(), offset, out);
}

void FileConversion::run_singly(const std::byte* src, std::int64_t offset, std::byte* out) const {
  run_with(cpu::convert_function(problem_.dst_type, problem_.src_type), src, 1, offset, out);
}

void FileConversion::run_with(cpu::ConvertFunction function, const std::byte* src,
                              std::int64_t count, std::int64_t offset, std::byte* out) const {
  cpu::ConvertRun run;
  run.src = src;
  run.dst = out;
  run.bias = &bias_;
  run.src_step = src_size();
  run.dst_step = run.place_step = dst_size();
  run.dst_offset = offset / src_size() * dst_size();
  run.count = count;
  function(problem_, run);
}

}  // namespace cornerturn::io
