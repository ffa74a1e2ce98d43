// ggml's copy operator: made into one problem, then run.
#include "cornerturn/ggml.hpp"

#include <fmt/format.h>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

int last_axis(const View& view) {
  return static_cast<int>(view.shape.size()) - 1;
}

void check_data(const char* name, const GgmlTensor& tensor) {
  if (tensor.data == nullptr) {
    throw Error(Status::invalid_argument,
                fmt::format("{}.data = null, but the tensor has elements", name));
  }
}

}  // namespace

void ggml_cpy(const GgmlTensor& dst, const GgmlTensor& src, const Options& options) {
  const GgmlCopy call = ggml_views(dst, src);
  check_data("dst", dst);
  check_data("src", src);
  BlockOptions in_blocks;
  in_blocks.threads = options.threads;
  in_blocks.stream = options.stream;
  switch (call.what) {
    case GgmlCopy::What::copy:
      return copy(call.dst, call.src, options);
    case GgmlCopy::What::quantise:
      return quantise(call.format, call.dst, nullptr, call.src, last_axis(call.dst), in_blocks);
    case GgmlCopy::What::dequantise:
      return dequantise(call.format, call.dst, call.src, nullptr, last_axis(call.dst), in_blocks);
  }
}

bool ggml_can_cpy(const GgmlTensor& dst, const GgmlTensor& src) noexcept try {
  ggml_views(dst, src);
  return true;
} catch (...) {
  return false;
}

Plan ggml_plan(const GgmlTensor& dst, const GgmlTensor& src, const Options& options) {
  const GgmlCopy call = ggml_views(dst, src);
  if (call.what != GgmlCopy::What::copy) {
    throw Error(Status::unsupported,
                fmt::format("dst.type = {} with src.type = {}: values that become blocks, and "
                            "blocks that become values, have no plan",
                            static_cast<int>(dst.type), static_cast<int>(src.type)));
  }
  return make_plan(call.dst, call.src, options);
}

}  // namespace cornerturn
