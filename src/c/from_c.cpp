#include "c/from_c.hpp"

#include <cstddef>

#include "core/per_thread.hpp"

namespace cornerturn::from_c {
namespace {

static_assert(CT_OK == static_cast<int>(Status::ok));
static_assert(CT_INVALID_ARGUMENT == static_cast<int>(Status::invalid_argument));
static_assert(CT_OVERFLOW == static_cast<int>(Status::overflow));
static_assert(CT_UNSUPPORTED == static_cast<int>(Status::unsupported));
static_assert(CT_OUT_OF_MEMORY == static_cast<int>(Status::out_of_memory));
static_assert(CT_IO_ERROR == static_cast<int>(Status::io_error));
static_assert(CT_INTERRUPTED == static_cast<int>(Status::interrupted));
static_assert(CT_INTERNAL == static_cast<int>(Status::internal));
static_assert(CT_DEVICE_ERROR == static_cast<int>(Status::device_error));

using LastError = PerThread<std::string>;

}  // namespace

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

const char* last_error() noexcept {
  const std::string* message = LastError::find();
  return message == nullptr ? "" : message->c_str();
}

Options to_options(const ct_options* c_options) {
  Options options;
  if (c_options == nullptr) return options;
  // A program built when there were fewer fields does not have the others.
  constexpr std::size_t without_stream = offsetof(ct_options, stream);
  constexpr std::size_t without_blocks = offsetof(ct_options, blocks);
  if (c_options->size != sizeof(ct_options) && c_options->size != without_blocks &&
      c_options->size != without_stream) {
    throw Error(Status::invalid_argument,
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
      options.effort = Effort::estimate;
      break;
    case CT_MEASURE:
      options.effort = Effort::measure;
      break;
    default:
      throw Error(Status::invalid_argument,
                  fmt::format("options.effort = {} is unknown: use CT_AUTOMATIC, CT_ESTIMATE or "
                              "CT_MEASURE",
                              c_options->effort));
  }
  if (c_options->kernel != nullptr) options.kernel = c_options->kernel;
  return options;
}

static_assert(CT_STOCHASTIC == static_cast<int>(Rounding::stochastic));
static_assert(CT_SATURATE == static_cast<int>(Overflow::saturate));

Epilogue to_epilogue(const ct_epilogue* c_epilogue) {
  Epilogue epilogue;
  if (c_epilogue == nullptr) return epilogue;
  if (c_epilogue->size != sizeof(ct_epilogue)) {
    throw Error(Status::invalid_argument,
                fmt::format("epilogue.size = {} is not {}: start from CT_EPILOGUE_INIT",
                            c_epilogue->size, sizeof(ct_epilogue)));
  }
  epilogue.alpha = c_epilogue->alpha;
  epilogue.beta = c_epilogue->beta;
  epilogue.conjugate = choice<int>("epilogue.conjugate", c_epilogue->conjugate, "0", "1") == 1;
  epilogue.rounding = choice<Rounding>("epilogue.rounding", c_epilogue->rounding, "CT_NEAREST_EVEN",
                                       "CT_STOCHASTIC");
  epilogue.overflow =
      choice<Overflow>("epilogue.overflow", c_epilogue->overflow, "CT_STANDARD", "CT_SATURATE");
  epilogue.seed = c_epilogue->seed;
  epilogue.scale = c_epilogue->scale;
  epilogue.scale_mode = c_epilogue->scale_mode;
  epilogue.bias = c_epilogue->bias;
  epilogue.bias_mode = c_epilogue->bias_mode;
  return epilogue;
}

static_assert(CT_POINTERS == static_cast<int>(Places::pointers));
static_assert(CT_CHECK_NEVER == static_cast<int>(ListChecks::never));

List to_list(const ct_list* c_list, const char* name) {
  if (c_list == nullptr) return {};
  if (c_list->size != sizeof(ct_list)) {
    throw Error(Status::invalid_argument,
                fmt::format("{}.size = {} is not {}: start from CT_LIST_INIT", name, c_list->size,
                            sizeof(ct_list)));
  }
  if (c_list->places < CT_STRIDES || c_list->places > CT_POINTERS) {
    throw Error(Status::invalid_argument,
                fmt::format("{}.places = {} is unknown: use CT_I32, CT_I64 or CT_POINTERS", name,
                            c_list->places));
  }
  return {.places = static_cast<Places>(c_list->places),
          .table = c_list->table,
          .axis = c_list->axis,
          .count = c_list->count,
          .missing = choice<int>("list.leave_missing", c_list->leave_missing, "0", "1") == 1
                         ? Missing::left
                         : Missing::zeros,
          .alignment = c_list->alignment};
}

ListChecks to_checks(int checks) {
  if (checks < CT_CHECK_ON_CPU || checks > CT_CHECK_NEVER) {
    throw Error(Status::invalid_argument,
                fmt::format("checks = {} is unknown: use CT_CHECK_ON_CPU, CT_CHECK_ALWAYS or "
                            "CT_CHECK_NEVER",
                            checks));
  }
  return static_cast<ListChecks>(checks);
}

ScaleOrder to_scale_order(const char* field, int value) {
  return choice_of<ScaleOrder>(field, value, CT_SCALES_TILES_128X4,
                               "CT_SCALES_STRIDED, CT_SCALES_PACKED_4 or CT_SCALES_TILES_128X4");
}

BlockOptions to_block_options(const ct_block_options* c_options) {
  BlockOptions options;
  if (c_options == nullptr) return options;
  // Callers that know nothing of what stands after the stream have a smaller struct.
  constexpr std::size_t until_stream = offsetof(ct_block_options, scale_order);
  const bool is_whole = c_options->size == sizeof(ct_block_options);
  if (!is_whole && c_options->size != until_stream) {
    throw Error(Status::invalid_argument,
                fmt::format("options.size = {} is not {}: start from CT_BLOCK_OPTIONS_INIT",
                            c_options->size, sizeof(ct_block_options)));
  }
  options.pad = choice<int>("options.pad", c_options->pad, "0", "1") == 1;
  const auto scale = choice_of<BlockScale>("options.scale", c_options->scale, CT_BLOCK_EVEN,
                                           "CT_BLOCK_FLOOR, CT_BLOCK_CEIL or CT_BLOCK_EVEN");
  if (scale != BlockScale::floor) options.scale = scale;
  options.threads = c_options->threads;
  options.stream = c_options->stream;
  if (!is_whole) return options;
  options.scale_order = to_scale_order("options.scale_order", c_options->scale_order);
  options.tensor_scale = c_options->tensor_scale;
  options.rounding =
      choice<Rounding>("options.rounding", c_options->rounding, "CT_NEAREST_EVEN", "CT_STOCHASTIC");
  options.seed = c_options->seed;
  options.lists = to_checks(c_options->checks);
  return options;
}
static_assert(CT_BLOCK_CEIL == static_cast<int>(BlockScale::ceil));
static_assert(CT_BLOCK_EVEN == static_cast<int>(BlockScale::even));
static_assert(CT_SCALES_TILES_128X4 == static_cast<int>(ScaleOrder::tiles_128x4));

Extents to_extents(int rank, const int64_t* extents, const char* rank_name, const char* name) {
  if (rank < 0 || rank > CT_MAX_RANK) {  // before the list is read
    throw Error(Status::invalid_argument,
                fmt::format("{} = {}: 0 to {} are supported", rank_name, rank, CT_MAX_RANK));
  }
  if (rank > 0) required(extents, name);
  return {extents, extents + rank};
}

}  // namespace cornerturn::from_c
