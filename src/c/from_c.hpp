// What the C interface's functions have in common: structs of C as the library's, and exceptions as
// a status and a message.
#pragma once

#include <fmt/format.h>

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn::from_c {

void forget_last_error() noexcept;
ct_status failed(ct_status status, const char* message) noexcept;
/// The message of this thread's last call, empty if it succeeded.
const char* last_error() noexcept;

template <class Body>
ct_status guarded(const Body& body) noexcept {
  try {
    body();
    forget_last_error();
    return CT_OK;
  } catch (const Error& error) {
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
    throw Error(Status::invalid_argument, fmt::format("{} = NULL, but it is needed", name));
  }
  return pointer;
}

template <class Result, class CView>
Result to_view(const CView* c_view, const char* name) {
  const CView& view = *required(c_view, name);
  if (view.rank < 0) {
    throw Error(Status::invalid_argument, fmt::format("{}.rank = {} is negative", name, view.rank));
  }
  if (view.rank > CT_MAX_RANK) {  // before the shape is read
    throw Error(Status::invalid_argument, fmt::format("{}.rank = {}, at most {} are supported",
                                                      name, view.rank, CT_MAX_RANK));
  }
  const auto type = ElementType::parse(required(view.type, "type"));
  if (view.rank > 0) required(view.shape, "shape");
  Extents shape(view.shape, view.shape + view.rank);
  if (view.strides == nullptr) return Result(view.data, type, std::move(shape));
  return Result(view.data, type, std::move(shape), Extents(view.strides, view.strides + view.rank));
}

// A view that may be left out.
template <class View, class Given>
std::optional<View> to_view_or_none(const Given* given, const char* name) {
  if (given == nullptr) return std::nullopt;
  return to_view<View>(given, name);
}

// `value` as the enumeration that has the names `zero` for 0 and `one` for 1.
template <class Enum>
Enum choice(const char* field, int value, const char* zero, const char* one) {
  if (value != 0 && value != 1) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = {} is unknown: use {} or {}", field, value, zero, one));
  }
  return static_cast<Enum>(value);
}

// A choice among more than two.
template <class Enum>
Enum choice_of(const char* field, int value, int last, const char* names) {
  if (value < 0 || value > last) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = {} is unknown: use {}", field, value, names));
  }
  return static_cast<Enum>(value);
}

Options to_options(const ct_options* c_options);
Epilogue to_epilogue(const ct_epilogue* c_epilogue);
List to_list(const ct_list* c_list, const char* name);
ListChecks to_checks(int checks);
ScaleOrder to_scale_order(const char* field, int value);
BlockOptions to_block_options(const ct_block_options* c_options);
Extents to_extents(int rank, const int64_t* extents, const char* rank_name, const char* name);

}  // namespace cornerturn::from_c
