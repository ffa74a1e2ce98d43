// The C interface: translate, call, turn exceptions into a status and a message.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/per_thread.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace ct = cornerturn;

struct ct_plan {
  ct::Plan plan;
  std::string explanation;
  std::string device;
};

namespace {

static_assert(CT_OK == static_cast<int>(ct::Status::ok));
static_assert(CT_INVALID_ARGUMENT == static_cast<int>(ct::Status::invalid_argument));
static_assert(CT_OVERFLOW == static_cast<int>(ct::Status::overflow));
static_assert(CT_UNSUPPORTED == static_cast<int>(ct::Status::unsupported));
static_assert(CT_OUT_OF_MEMORY == static_cast<int>(ct::Status::out_of_memory));
static_assert(CT_IO_ERROR == static_cast<int>(ct::Status::io_error));
static_assert(CT_INTERRUPTED == static_cast<int>(ct::Status::interrupted));
static_assert(CT_INTERNAL == static_cast<int>(ct::Status::internal));
static_assert(CT_DEVICE_ERROR == static_cast<int>(ct::Status::device_error));

using LastError = ct::PerThread<std::string>;

void forget_last_error() noexcept {
  if (std::string* message = LastError::find()) message->clear();
}

ct_status failed(ct_status status, const char* message) noexcept {
  try {
    LastError::get() = message;
  } catch (...) {  // no memory for the message: the status must do
    forget_last_error();
  }
  return status;
}

template <class Body>
ct_status guarded(const Body& body) noexcept {
  try {
    body();
    forget_last_error();
    return CT_OK;
  } catch (const ct::Error& error) {
    return failed(static_cast<ct_status>(error.status()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(CT_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& error) {
    return failed(CT_INTERNAL, error.what());
  } catch (...) {
    return failed(CT_INTERNAL, "an unknown exception");
  }
}

template <class Pointer>
Pointer required(Pointer pointer, const char* name) {
  if (pointer == nullptr) {
    throw ct::Error(ct::Status::invalid_argument, fmt::format("{} = NULL, but it is needed", name));
  }
  return pointer;
}

template <class Result, class CView>
Result to_view(const CView* c_view, const char* name) {
  const CView& view = *required(c_view, name);
  if (view.rank < 0) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{}.rank = {} is negative", name, view.rank));
  }
  if (view.rank > CT_MAX_RANK) {  // before the shape is read
    throw ct::Error(
        ct::Status::invalid_argument,
        fmt::format("{}.rank = {}, at most {} are supported", name, view.rank, CT_MAX_RANK));
  }
  const auto type = ct::ElementType::parse(required(view.type, "type"));
  if (view.rank > 0) required(view.shape, "shape");
  ct::Extents shape(view.shape, view.shape + view.rank);
  if (view.strides == nullptr) return Result(view.data, type, std::move(shape));
  return Result(view.data, type, std::move(shape),
                ct::Extents(view.strides, view.strides + view.rank));
}

template <class Result, class CView>
std::vector<Result> to_views(const CView* list, const char* name, int devices) {
  if (devices < 0) {
    throw ct::Error(ct::Status::invalid_argument, fmt::format("devices = {} is negative", devices));
  }
  if (devices > 0) required(list, name);
  std::vector<Result> views;
  views.reserve(static_cast<std::size_t>(devices));
  for (int i = 0; i < devices; ++i) {
    views.push_back(to_view<Result>(list + i, fmt::format("{}[{}]", name, i).c_str()));
  }
  return views;
}

ct::Options to_options(const ct_options* c_options) {
  ct::Options options;
  if (c_options == nullptr) return options;
  // A program built when there were fewer fields does not have the others.
  constexpr std::size_t without_stream = offsetof(ct_options, stream);
  constexpr std::size_t without_blocks = offsetof(ct_options, blocks);
  if (c_options->size != sizeof(ct_options) && c_options->size != without_blocks &&
      c_options->size != without_stream) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("options.size = {} is not {}: start from CT_OPTIONS_INIT",
                                c_options->size, sizeof(ct_options)));
  }
  if (c_options->size >= without_blocks) {
    options.stream = c_options->stream;
    if (c_options->device != nullptr) options.device = c_options->device;
  }
  if (c_options->size == sizeof(ct_options)) options.blocks = c_options->blocks;
  options.threads = c_options->threads;
  switch (c_options->effort) {
    case CT_AUTOMATIC:
      break;
    case CT_ESTIMATE:
      options.effort = ct::Effort::estimate;
      break;
    case CT_MEASURE:
      options.effort = ct::Effort::measure;
      break;
    default:
      throw ct::Error(
          ct::Status::invalid_argument,
          fmt::format("options.effort = {} is unknown: use CT_AUTOMATIC, CT_ESTIMATE or "
                      "CT_MEASURE",
                      c_options->effort));
  }
  if (c_options->kernel != nullptr) options.kernel = c_options->kernel;
  return options;
}

// `value` as the enumeration that has the names `zero` for 0 and `one` for 1.
template <class Enum>
Enum choice(const char* field, int value, const char* zero, const char* one) {
  if (value != 0 && value != 1) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{} = {} is unknown: use {} or {}", field, value, zero, one));
  }
  return static_cast<Enum>(value);
}

static_assert(CT_STOCHASTIC == static_cast<int>(ct::Rounding::stochastic));
static_assert(CT_SATURATE == static_cast<int>(ct::Overflow::saturate));

ct::Epilogue to_epilogue(const ct_epilogue* c_epilogue) {
  ct::Epilogue epilogue;
  if (c_epilogue == nullptr) return epilogue;
  if (c_epilogue->size != sizeof(ct_epilogue)) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("epilogue.size = {} is not {}: start from CT_EPILOGUE_INIT",
                                c_epilogue->size, sizeof(ct_epilogue)));
  }
  epilogue.alpha = c_epilogue->alpha;
  epilogue.beta = c_epilogue->beta;
  epilogue.conjugate = choice<int>("epilogue.conjugate", c_epilogue->conjugate, "0", "1") == 1;
  epilogue.rounding = choice<ct::Rounding>("epilogue.rounding", c_epilogue->rounding,
                                           "CT_NEAREST_EVEN", "CT_STOCHASTIC");
  epilogue.overflow =
      choice<ct::Overflow>("epilogue.overflow", c_epilogue->overflow, "CT_STANDARD", "CT_SATURATE");
  epilogue.seed = c_epilogue->seed;
  epilogue.scale = c_epilogue->scale;
  epilogue.scale_mode = c_epilogue->scale_mode;
  epilogue.bias = c_epilogue->bias;
  epilogue.bias_mode = c_epilogue->bias_mode;
  return epilogue;
}

static_assert(CT_POINTERS == static_cast<int>(ct::Places::pointers));
static_assert(CT_CHECK_NEVER == static_cast<int>(ct::ListChecks::never));

ct::List to_list(const ct_list* c_list, const char* name) {
  if (c_list == nullptr) return {};
  if (c_list->size != sizeof(ct_list)) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{}.size = {} is not {}: start from CT_LIST_INIT", name,
                                c_list->size, sizeof(ct_list)));
  }
  if (c_list->places < CT_STRIDES || c_list->places > CT_POINTERS) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{}.places = {} is unknown: use CT_I32, CT_I64 or CT_POINTERS",
                                name, c_list->places));
  }
  return {.places = static_cast<ct::Places>(c_list->places),
          .table = c_list->table,
          .axis = c_list->axis,
          .count = c_list->count,
          .missing = choice<int>("list.leave_missing", c_list->leave_missing, "0", "1") == 1
                         ? ct::Missing::left
                         : ct::Missing::zeros,
          .alignment = c_list->alignment};
}

ct::ListChecks to_checks(int checks) {
  if (checks < CT_CHECK_ON_CPU || checks > CT_CHECK_NEVER) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("checks = {} is unknown: use CT_CHECK_ON_CPU, CT_CHECK_ALWAYS or "
                                "CT_CHECK_NEVER",
                                checks));
  }
  return static_cast<ct::ListChecks>(checks);
}

// A choice among more than two.
template <class Enum>
Enum choice_of(const char* field, int value, int last, const char* names) {
  if (value < 0 || value > last) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{} = {} is unknown: use {}", field, value, names));
  }
  return static_cast<Enum>(value);
}

ct::ScaleOrder to_scale_order(const char* field, int value) {
  return choice_of<ct::ScaleOrder>(
      field, value, CT_SCALES_TILES_128X4,
      "CT_SCALES_STRIDED, CT_SCALES_PACKED_4 or CT_SCALES_TILES_128X4");
}

ct::BlockOptions to_block_options(const ct_block_options* c_options) {
  ct::BlockOptions options;
  if (c_options == nullptr) return options;
  // Callers that know nothing of what stands after the stream have a smaller struct.
  constexpr std::size_t until_stream = offsetof(ct_block_options, scale_order);
  const bool is_whole = c_options->size == sizeof(ct_block_options);
  if (!is_whole && c_options->size != until_stream) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("options.size = {} is not {}: start from CT_BLOCK_OPTIONS_INIT",
                                c_options->size, sizeof(ct_block_options)));
  }
  options.pad = choice<int>("options.pad", c_options->pad, "0", "1") == 1;
  const auto scale = choice_of<ct::BlockScale>("options.scale", c_options->scale, CT_BLOCK_EVEN,
                                               "CT_BLOCK_FLOOR, CT_BLOCK_CEIL or CT_BLOCK_EVEN");
  if (scale != ct::BlockScale::floor) options.scale = scale;
  options.threads = c_options->threads;
  options.stream = c_options->stream;
  if (!is_whole) return options;
  options.scale_order = to_scale_order("options.scale_order", c_options->scale_order);
  options.tensor_scale = c_options->tensor_scale;
  options.rounding = choice<ct::Rounding>("options.rounding", c_options->rounding,
                                          "CT_NEAREST_EVEN", "CT_STOCHASTIC");
  options.seed = c_options->seed;
  return options;
}
static_assert(CT_BLOCK_CEIL == static_cast<int>(ct::BlockScale::ceil));
static_assert(CT_BLOCK_EVEN == static_cast<int>(ct::BlockScale::even));
static_assert(CT_SCALES_TILES_128X4 == static_cast<int>(ct::ScaleOrder::tiles_128x4));

// A view that may be left out.
template <class View, class Given>
std::optional<View> to_view_or_none(const Given* given, const char* name) {
  if (given == nullptr) return std::nullopt;
  return to_view<View>(given, name);
}

ct::GgmlTensor to_ggml(const void* data, int type, const int64_t* ne, const size_t* nb,
                       const char* ne_name, const char* nb_name) {
  required(ne, ne_name);
  required(nb, nb_name);
  ct::GgmlTensor tensor{static_cast<ct::GgmlType>(type), {}, {}, const_cast<void*>(data)};
  std::copy_n(ne, 4, tensor.ne);
  std::copy_n(nb, 4, tensor.nb);
  return tensor;
}

ct::Extents to_extents(int rank, const int64_t* extents, const char* rank_name, const char* name) {
  if (rank < 0 || rank > CT_MAX_RANK) {  // before the list is read
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("{} = {}: 0 to {} are supported", rank_name, rank, CT_MAX_RANK));
  }
  if (rank > 0) required(extents, name);
  return {extents, extents + rank};
}

ct::Resharding to_resharding(const ct_resharding& what) {
  if (what.size != sizeof(ct_resharding)) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("what.size = {} is not {}: start from CT_RESHARDING_INIT",
                                what.size, sizeof(ct_resharding)));
  }
  ct::Resharding made;
  made.shape = to_extents(what.rank, what.shape, "rank", "shape");
  made.mesh = to_extents(what.mesh_rank, what.mesh, "mesh_rank", "mesh");
  made.src = required(what.src, "src");
  made.dst = required(what.dst, "dst");
  if (what.perm != nullptr) made.permutation.assign(what.perm, what.perm + what.rank);
  return made;
}

}  // namespace

const char* ct_version(void) {
  return ct::version();
}
int ct_abi_version(void) {
  return CT_ABI_VERSION;
}
const char* ct_last_error(void) {
  const std::string* message = LastError::find();
  return message != nullptr ? message->c_str() : "";
}

ct_status ct_copy(const ct_view* dst, const ct_const_view* src, const ct_options* options) {
  return ct_copy_with(dst, src, nullptr, options);
}

ct_status ct_copy_with(const ct_view* dst, const ct_const_view* src, const ct_epilogue* epilogue,
                       const ct_options* options) {
  return guarded([&] {
    ct::copy(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(src, "src"),
             to_epilogue(epilogue), to_options(options));
  });
}

ct_status ct_copy_listed(const ct_view* dst, const ct_list* dst_list, const ct_const_view* src,
                         const ct_list* src_list, const ct_epilogue* epilogue, int checks,
                         const ct_options* options) {
  return guarded([&] {
    ct::Options asked = to_options(options);
    asked.lists = to_checks(checks);
    ct::copy(ct::ListedView(to_view<ct::View>(dst, "dst"), to_list(dst_list, "dst_list")),
             ct::ConstListedView(to_view<ct::ConstView>(src, "src"), to_list(src_list, "src_list")),
             to_epilogue(epilogue), asked);
  });
}

ct_status ct_permute_to(void* dst, const char* dst_type, const ct_const_view* src, const int* perm,
                        const ct_epilogue* epilogue, const ct_options* options) {
  return guarded([&] {
    const auto view = to_view<ct::ConstView>(src, "src");
    if (!view.shape.empty()) required(perm, "perm");
    ct::permute(dst, ct::ElementType::parse(required(dst_type, "dst_type")), view,
                std::span<const int>(perm, view.shape.size()), to_epilogue(epilogue),
                to_options(options));
  });
}

ct_status ct_transpose_to(void* dst, const char* dst_type, const void* src, int64_t rows,
                          int64_t columns, const char* src_type, const ct_epilogue* epilogue,
                          const ct_options* options) {
  return guarded([&] {
    ct::transpose(dst, ct::ElementType::parse(required(dst_type, "dst_type")), src, rows, columns,
                  ct::ElementType::parse(required(src_type, "src_type")), to_epilogue(epilogue),
                  to_options(options));
  });
}

ct_status ct_permute(void* dst, const ct_const_view* src, const int* perm,
                     const ct_options* options) {
  return guarded([&] {
    const auto view = to_view<ct::ConstView>(src, "src");
    if (!view.shape.empty()) required(perm, "perm");
    ct::permute(dst, view, std::span<const int>(perm, view.shape.size()), to_options(options));
  });
}

ct_status ct_permute_in_place(const ct_view* array, const int* perm, int64_t* strides,
                              const ct_options* options) {
  return guarded([&] {
    const auto view = to_view<ct::View>(array, "array");
    if (array->rank > 0) required(perm, "perm");
    const ct::View result = ct::permute_in_place(
        view, std::span<const int>(perm, view.shape.size()), to_options(options));
    if (strides != nullptr) std::copy(result.strides.begin(), result.strides.end(), strides);
  });
}

ct_status ct_transpose_in_place(void* array, int64_t rows, int64_t columns, const char* type,
                                const ct_options* options) {
  return guarded([&] {
    ct::transpose_in_place(array, rows, columns, ct::ElementType::parse(required(type, "type")),
                           to_options(options));
  });
}

ct_status ct_transpose(void* dst, const void* src, int64_t rows, int64_t columns, const char* type,
                       const ct_options* options) {
  return guarded([&] {
    ct::transpose(dst, src, rows, columns, ct::ElementType::parse(required(type, "type")),
                  to_options(options));
  });
}

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

static ct::Options on_stream(int threads, void* stream) {
  ct::Options options;
  options.threads = threads;
  options.stream = stream;
  return options;
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

ct_status ct_redistribute(const ct_view* dst, const ct_const_view* src, int devices,
                          const ct_resharding* what) {
  return guarded([&] {
    const ct_resharding& asked = *required(what, "what");
    const ct::Resharding resharding = to_resharding(asked);
    ct::ReshardingOptions options;
    const auto dst_views = to_views<ct::View>(dst, "dst", devices);
    const auto src_views = to_views<ct::ConstView>(src, "src", devices);
    if (asked.streams != nullptr) options.streams.assign(asked.streams, asked.streams + devices);
    if (asked.route != nullptr) options.route = asked.route;
    options.threads = asked.threads;
    ct::redistribute(dst_views, src_views, resharding, options);
  });
}

ct_status ct_plan_make(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                       const ct_options* options) {
  return ct_plan_make_with(plan, dst, src, nullptr, options);
}

ct_status ct_plan_make_with(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                            const ct_epilogue* epilogue, const ct_options* options) {
  return guarded([&] {
    *required(plan, "plan") = nullptr;
    ct::Plan made = ct::make_plan(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(src, "src"),
                                  to_epilogue(epilogue), to_options(options));
    std::string explanation = made.explain();
    std::string device = made.device();
    *plan = new ct_plan{std::move(made), std::move(explanation), std::move(device)};
  });
}

ct_status ct_plan_execute(const ct_plan* plan, void* dst, const void* src) {
  return guarded([&] { ct::execute(required(plan, "plan")->plan, dst, src); });
}

ct_status ct_plan_execute_on(const ct_plan* plan, void* dst, const void* src, void* stream) {
  return guarded([&] { ct::execute(required(plan, "plan")->plan, dst, src, stream); });
}

ct_status ct_plan_execute_with(const ct_plan* plan, void* dst, const void* src,
                               const ct_epilogue* epilogue, void* stream) {
  return guarded(
      [&] { ct::execute(required(plan, "plan")->plan, dst, src, to_epilogue(epilogue), stream); });
}

const char* ct_plan_device(const ct_plan* plan) {
  return plan == nullptr ? nullptr : plan->device.c_str();
}

const char* ct_plan_explain(const ct_plan* plan) {
  return plan == nullptr ? nullptr : plan->explanation.c_str();
}

void ct_plan_free(ct_plan* plan) {
  delete plan;
}

ct_status ct_load_winners(const char* path) {
  return guarded([&] { ct::load_winners(required(path, "path")); });
}

ct_status ct_save_winners(const char* path) {
  return guarded([&] { ct::save_winners(required(path, "path")); });
}
