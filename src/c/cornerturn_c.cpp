// The C interface: translate, call, turn exceptions into a status and a message.
#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <string>

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

std::string& last_error() noexcept {
  thread_local std::string message;
  return message;
}

ct_status failed(ct_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {  // no memory for the message: the status must do
    last_error().clear();
  }
  return status;
}

template <class Body>
ct_status guarded(const Body& body) noexcept {
  try {
    body();
    last_error().clear();
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
  const auto type = ct::ElementType::parse(required(view.type, "type"));
  if (view.rank > 0) required(view.shape, "shape");
  ct::Extents shape(view.shape, view.shape + view.rank);
  if (view.strides == nullptr) return Result(view.data, type, std::move(shape));
  return Result(view.data, type, std::move(shape),
                ct::Extents(view.strides, view.strides + view.rank));
}

ct::Options to_options(const ct_options* c_options) {
  ct::Options options;
  if (c_options == nullptr) return options;
  // A program built when there were fewer fields does not have the others.
  constexpr std::size_t without_stream = offsetof(ct_options, stream);
  if (c_options->size != sizeof(ct_options) && c_options->size != without_stream) {
    throw ct::Error(ct::Status::invalid_argument,
                    fmt::format("options.size = {} is not {}: start from CT_OPTIONS_INIT",
                                c_options->size, sizeof(ct_options)));
  }
  if (c_options->size == sizeof(ct_options)) {
    options.stream = c_options->stream;
    if (c_options->device != nullptr) options.device = c_options->device;
  }
  options.threads = c_options->threads;
  switch (c_options->effort) {
    case CT_ESTIMATE:
      break;
    case CT_MEASURE:
      options.effort = ct::Effort::measure;
      break;
    default:
      throw ct::Error(ct::Status::invalid_argument,
                      fmt::format("options.effort = {} is unknown: use CT_ESTIMATE or CT_MEASURE",
                                  c_options->effort));
  }
  if (c_options->kernel != nullptr) options.kernel = c_options->kernel;
  return options;
}

}  // namespace

const char* ct_version(void) {
  return ct::version();
}
int ct_abi_version(void) {
  return CT_ABI_VERSION;
}
const char* ct_last_error(void) {
  return last_error().c_str();
}

ct_status ct_copy(const ct_view* dst, const ct_const_view* src, const ct_options* options) {
  return guarded([&] {
    ct::copy(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(src, "src"),
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

ct_status ct_transpose(void* dst, const void* src, int64_t rows, int64_t columns, const char* type,
                       const ct_options* options) {
  return guarded([&] {
    ct::transpose(dst, src, rows, columns, ct::ElementType::parse(required(type, "type")),
                  to_options(options));
  });
}

ct_status ct_plan_make(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                       const ct_options* options) {
  return guarded([&] {
    *required(plan, "plan") = nullptr;
    ct::Plan made = ct::make_plan(to_view<ct::View>(dst, "dst"), to_view<ct::ConstView>(src, "src"),
                                  to_options(options));
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
