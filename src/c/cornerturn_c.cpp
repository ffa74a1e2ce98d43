// The C interface: translate, call, turn exceptions into a status and a message.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "c/from_c.hpp"

namespace ct = cornerturn;
using namespace cornerturn::from_c;

struct ct_plan {
  ct::Plan plan;
  std::string explanation;
  std::string device;
};

namespace {

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
  return last_error();
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
