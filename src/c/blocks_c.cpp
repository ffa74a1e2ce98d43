// The C interface of blocks, scales and ggml's tensors.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "c/from_c.hpp"

namespace ct = cornerturn;
using namespace cornerturn::from_c;

namespace {

ct::GgmlTensor to_ggml(const void* data, int type, const int64_t* ne, const size_t* nb,
                       const char* ne_name, const char* nb_name) {
  required(ne, ne_name);
  required(nb, nb_name);
  ct::GgmlTensor tensor{static_cast<ct::GgmlType>(type), {}, {}, const_cast<void*>(data)};
  std::copy_n(ne, 4, tensor.ne);
  std::copy_n(nb, 4, tensor.nb);
  return tensor;
}

ct::Options on_stream(int threads, void* stream) {
  ct::Options options;
  options.threads = threads;
  options.stream = stream;
  return options;
}

}  // namespace

ct_status ct_quantise(const char* format, const ct_view* values, const ct_view* scales,
                      const ct_const_view* src, int axis, const ct_block_options* options) {
  return guarded([&] {
    const auto codes = to_view_or_none<ct::View>(scales, "scales");
    ct::quantise(ct::block_format(required(format, "format")), to_view<ct::View>(values, "values"),
                 codes ? &*codes : nullptr, to_view<ct::ConstView>(src, "src"), axis,
                 to_block_options(options));
  });
}

ct_status ct_dequantise(const char* format, const ct_view* dst, const ct_const_view* values,
                        const ct_const_view* scales, int axis, const ct_block_options* options) {
  return guarded([&] {
    const auto codes = to_view_or_none<ct::ConstView>(scales, "scales");
    ct::dequantise(ct::block_format(required(format, "format")), to_view<ct::View>(dst, "dst"),
                   to_view<ct::ConstView>(values, "values"), codes ? &*codes : nullptr, axis,
                   to_block_options(options));
  });
}

ct_status ct_convert_scales(const ct_view* dst, int to, const ct_const_view* src, int from,
                            int rank, const int64_t* shape, const ct_options* options) {
  return guarded([&] {
    ct::convert_scales(to_view<ct::View>(dst, "dst"), to_scale_order("to", to),
                       to_view<ct::ConstView>(src, "src"), to_scale_order("from", from),
                       to_extents(rank, shape, "rank", "shape"), to_options(options));
  });
}

ct_status ct_transpose_blocks(const char* format, const ct_view* values, const ct_view* scales,
                              const ct_const_view* src_values, const ct_const_view* src_scales,
                              const ct_options* options) {
  return guarded([&] {
    ct::transpose_blocks(ct::block_format(required(format, "format")),
                         to_view<ct::View>(values, "values"), to_view<ct::View>(scales, "scales"),
                         to_view<ct::ConstView>(src_values, "src_values"),
                         to_view<ct::ConstView>(src_scales, "src_scales"), to_options(options));
  });
}

ct_status ct_quantise_groups(const char* format, const ct_view* values, const ct_view* scales,
                             const ct_const_view* src, int64_t groups, const int64_t* sizes,
                             int axis, const ct_block_options* options) {
  return guarded([&] {
    if (groups < 0) {
      throw ct::Error(ct::Status::invalid_argument, fmt::format("groups = {} is negative", groups));
    }
    if (groups > 0) required(sizes, "sizes");
    const auto codes = to_view_or_none<ct::View>(scales, "scales");
    ct::quantise_groups(ct::block_format(required(format, "format")),
                        to_view<ct::View>(values, "values"), codes ? &*codes : nullptr,
                        to_view<ct::ConstView>(src, "src"), ct::Extents(sizes, sizes + groups),
                        axis, to_block_options(options));
  });
}

ct_status ct_quantise_both(const char* format, const ct_view* rows, const ct_view* row_scales,
                           const ct_view* columns, const ct_view* column_scales,
                           const ct_const_view* src, const ct_block_options* options) {
  return guarded([&] {
    ct::quantise_both(ct::block_format(required(format, "format")), to_view<ct::View>(rows, "rows"),
                      to_view<ct::View>(row_scales, "row_scales"),
                      to_view<ct::View>(columns, "columns"),
                      to_view<ct::View>(column_scales, "column_scales"),
                      to_view<ct::ConstView>(src, "src"), to_block_options(options));
  });
}

ct_status ct_quantise_listed(const char* format, const ct_view* values, const ct_view* scales,
                             const ct_const_view* src, const ct_list* src_list, int axis,
                             const ct_block_options* options) {
  return guarded([&] {
    const auto codes = to_view_or_none<ct::View>(scales, "scales");
    ct::quantise_listed(
        ct::block_format(required(format, "format")), to_view<ct::View>(values, "values"),
        codes ? &*codes : nullptr,
        ct::ConstListedView(to_view<ct::ConstView>(src, "src"), to_list(src_list, "src_list")),
        axis, to_block_options(options));
  });
}

ct_status ct_dequantise_listed(const char* format, const ct_view* dst, const ct_list* dst_list,
                               const ct_const_view* values, const ct_const_view* scales, int axis,
                               const ct_block_options* options) {
  return guarded([&] {
    const auto codes = to_view_or_none<ct::ConstView>(scales, "scales");
    ct::dequantise_listed(
        ct::block_format(required(format, "format")),
        ct::ListedView(to_view<ct::View>(dst, "dst"), to_list(dst_list, "dst_list")),
        to_view<ct::ConstView>(values, "values"), codes ? &*codes : nullptr, axis,
        to_block_options(options));
  });
}

ct_status ct_quantise_both_listed(const char* format, const ct_view* rows,
                                  const ct_view* row_scales, const ct_view* columns,
                                  const ct_view* column_scales, const ct_const_view* src,
                                  const ct_list* src_list, const ct_block_options* options) {
  return guarded([&] {
    ct::quantise_both_listed(
        ct::block_format(required(format, "format")), to_view<ct::View>(rows, "rows"),
        to_view<ct::View>(row_scales, "row_scales"), to_view<ct::View>(columns, "columns"),
        to_view<ct::View>(column_scales, "column_scales"),
        ct::ConstListedView(to_view<ct::ConstView>(src, "src"), to_list(src_list, "src_list")),
        to_block_options(options));
  });
}

ct_status ct_quantise_q8_0(const ct_view* blocks, const ct_const_view* src, int axis,
                           const ct_block_options* options) {
  return guarded([&] {
    ct::quantise_q8_0(to_view<ct::View>(blocks, "blocks"), to_view<ct::ConstView>(src, "src"), axis,
                      to_block_options(options));
  });
}

ct_status ct_dequantise_q8_0(const ct_view* dst, const ct_const_view* blocks, int axis,
                             const ct_block_options* options) {
  return guarded([&] {
    ct::dequantise_q8_0(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(blocks, "blocks"),
                        axis, to_block_options(options));
  });
}

ct_status ct_quantise_mxfp8(const ct_view* values, const ct_view* scales, const ct_const_view* src,
                            int axis, const ct_block_options* options) {
  return guarded([&] {
    ct::quantise_mxfp8(to_view<ct::View>(values, "values"), to_view<ct::View>(scales, "scales"),
                       to_view<ct::ConstView>(src, "src"), axis, to_block_options(options));
  });
}

ct_status ct_dequantise_mxfp8(const ct_view* dst, const ct_const_view* values,
                              const ct_const_view* scales, int axis,
                              const ct_block_options* options) {
  return guarded([&] {
    ct::dequantise_mxfp8(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(values, "values"),
                         to_view<ct::ConstView>(scales, "scales"), axis, to_block_options(options));
  });
}

ct_status ct_quantise_mxfp8_both(const ct_view* rows, const ct_view* row_scales,
                                 const ct_view* columns, const ct_view* column_scales,
                                 const ct_const_view* src, const ct_block_options* options) {
  return guarded([&] {
    ct::quantise_mxfp8_both(
        to_view<ct::View>(rows, "rows"), to_view<ct::View>(row_scales, "row_scales"),
        to_view<ct::View>(columns, "columns"), to_view<ct::View>(column_scales, "column_scales"),
        to_view<ct::ConstView>(src, "src"), to_block_options(options));
  });
}

ct_status ct_ggml_cpy(void* dst, int dst_type, const int64_t dst_ne[4], const size_t dst_nb[4],
                      const void* src, int src_type, const int64_t src_ne[4],
                      const size_t src_nb[4], const ct_options* options) {
  return guarded([&] {
    ct::ggml_cpy(to_ggml(dst, dst_type, dst_ne, dst_nb, "dst_ne", "dst_nb"),
                 to_ggml(src, src_type, src_ne, src_nb, "src_ne", "src_nb"), to_options(options));
  });
}

ct_status ct_ggml_can_cpy(int dst_type, const int64_t dst_ne[4], const size_t dst_nb[4],
                          int src_type, const int64_t src_ne[4], const size_t src_nb[4]) {
  return guarded([&] {
    ct::ggml_views(to_ggml(nullptr, dst_type, dst_ne, dst_nb, "dst_ne", "dst_nb"),
                   to_ggml(nullptr, src_type, src_ne, src_nb, "src_ne", "src_nb"));
  });
}

ct_status ct_amax(double* amax, const ct_const_view* src, int threads) {
  return ct_amax_on(amax, src, threads, nullptr);
}

ct_status ct_amax_on(double* amax, const ct_const_view* src, int threads, void* stream) {
  return guarded([&] {
    double& result = *required(amax, "amax");
    result = ct::amax(to_view<ct::ConstView>(src, "src"), on_stream(threads, stream));
  });
}

ct_status ct_quantise_tensor(const ct_view* dst, double* scale, const ct_const_view* src,
                             int threads) {
  return ct_quantise_tensor_on(dst, scale, src, threads, nullptr);
}

ct_status ct_quantise_tensor_on(const ct_view* dst, double* scale, const ct_const_view* src,
                                int threads, void* stream) {
  return guarded([&] {
    double& result = *required(scale, "scale");
    result = ct::quantise_tensor(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(src, "src"),
                                 on_stream(threads, stream));
  });
}
