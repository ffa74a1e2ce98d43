// Sequences of calls of the C interface with any arguments that a caller may give: numbers of every
// size, types that are none, views that overlap, plans that are run, explained and freed. Every
// status goes with its message, what is refused writes nothing, what is allowed stays inside its
// views, and nothing is a defect of the library's own. Copies are compared element by element.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "fuzz/any_view.hpp"
#include "fuzz/input.hpp"
#include "fuzz/stop.hpp"

namespace cornerturn::fuzz {
namespace {

constexpr const char* kernels[] = {"gather", "copy", "tile", "pack", "convert", "blocks", "none"};
constexpr const char* devices[] = {"cpu", "gpu", "h200", "/nothing.json", ""};

struct Plan {
  ct_plan* plan = nullptr;
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
};

class Calls {
 public:
  explicit Calls(Input& input) : input_(input) {}
  ~Calls() {
    for (Plan& slot : plans_) ct_plan_free(slot.plan);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void one();

 private:
  ct_options options() {
    ct_options options = CT_OPTIONS_INIT;
    const std::uint8_t how = input_.byte();
    options.threads = how % 8 == 7 ? -1 : how % 4;
    options.effort = how / 8 % 8 == 7 ? 77 : CT_ESTIMATE;
    if (input_.one_in(8)) options.kernel = input_.of(kernels);
    if (input_.one_in(10)) options.device = input_.of(devices);
    if (input_.one_in(50)) options.size = 3;
    return options;
  }
  ct_epilogue epilogue() {
    constexpr double some[] = {1, 0, -1, 0.5, 2, -0.0, 1e300};
    ct_epilogue epilogue = CT_EPILOGUE_INIT;
    epilogue.alpha = input_.of(some);
    epilogue.beta = input_.one_in(3) ? input_.of(some) : 0;
    const std::uint8_t how = input_.byte();
    epilogue.conjugate = how % 16 == 1;
    epilogue.rounding = how / 16 % 4 == 1 ? 1 : how == 255 ? 9 : 0;
    epilogue.overflow = how / 64 % 2;
    if (input_.one_in(3)) epilogue.scale = vector_.data(), epilogue.scale_mode = axis();
    if (input_.one_in(3)) epilogue.bias = vector_.data(), epilogue.bias_mode = axis();
    return epilogue;
  }
  int axis() { return static_cast<int>(input_.uniform(-2, 4)); }
  ct_block_options block_options() {
    ct_block_options options = CT_BLOCK_OPTIONS_INIT;
    const std::uint8_t how = input_.byte();
    options.pad = how % 2;
    options.scale = how / 2 % 2;
    options.threads = how / 4 % 8 == 7 ? -1 : how / 4 % 8 % 4;
    return options;
  }
  Memory& any_memory() { return input_.one_in(16) ? src_ : dst_; }  // now and then they overlap
  std::byte* room(Wide bytes) {
    return bytes < 0 || bytes > memory_bytes ? nullptr : any_memory().bytes.data();
  }

  // Every call ends here.
  bool said(ct_status status);
  void copy(bool with);
  void permute(bool to);
  void transpose(bool to);
  void make_plan(bool with);
  void execute();
  void amax();
  void blocks();
  void ggml();
  void compare(const AnyView& dst, const AnyView& src);

  Input& input_;
  Memory src_{1}, dst_{2};
  std::vector<std::byte> before_ = dst_.bytes;
  std::vector<std::byte> source_ = src_.bytes;
  std::vector<float> vector_ = std::vector<float>(memory_bytes, 1.5F);
  std::array<Plan, 3> plans_;
};

bool Calls::said(ct_status status) {
  const std::string message = ct_last_error();
  if (status < CT_OK || status > CT_DEVICE_ERROR) stop("an unknown status");
  if (status == CT_INTERNAL) stop("a defect: " + message);
  if ((status == CT_OK) != message.empty()) {
    stop("status " + std::to_string(status) + " with '" + message + "'");
  }
  if (status != CT_OK && (dst_.bytes != before_ || src_.bytes != source_)) {
    stop("refused, and yet written: " + message);
  }
  before_ = dst_.bytes;
  source_ = src_.bytes;
  return status == CT_OK;
}

void Calls::compare(const AnyView& dst, const AnyView& src) {
  const auto size = size_of(src.type);
  if (std::strcmp(dst.type, src.type) != 0 || dst.data == nullptr) return;
  std::vector<std::int64_t> index(static_cast<std::size_t>(src.rank));
  for (;;) {
    const std::byte* from = src.data;
    const std::byte* to = dst.data;
    for (int i = 0; i < src.rank; ++i) {
      from += index[static_cast<std::size_t>(i)] * src.stride(i, size);
      to += index[static_cast<std::size_t>(i)] * dst.stride(i, size);
    }
    if (std::memcmp(from, to, static_cast<std::size_t>(size)) != 0) stop("a wrong element");
    int i = src.rank;
    while (--i >= 0) {
      auto& at = index[static_cast<std::size_t>(i)];
      if (++at < src.shape[static_cast<std::size_t>(i)]) break;
      at = 0;
    }
    if (i < 0) return;
  }
}

void Calls::copy(bool with) {
  const AnyView src = any_view(input_, src_);
  const AnyView dst = partner(input_, src, any_memory());
  const auto to = dst.as<ct_view>();
  const auto from = src.as<ct_const_view>();
  const ct_options how = options();
  if (with) {
    const ct_epilogue values = epilogue();
    said(ct_copy_with(&to, &from, input_.one_in(8) ? nullptr : &values, &how));
  } else if (said(ct_copy(&to, &from, &how))) {
    compare(dst, src);
  }
}

void Calls::permute(bool to) {
  const AnyView src = any_view(input_, src_);
  const auto from = src.as<ct_const_view>();
  int perm[CT_MAX_RANK + 2];
  const bool right = !input_.one_in(6);
  for (int i = 0; i < CT_MAX_RANK + 2; ++i) {
    perm[i] = right ? i : static_cast<int>(input_.uniform(-1, 5));
  }
  if (right && src.rank > 1 && src.rank <= CT_MAX_RANK) {
    std::swap(perm[0], perm[input_.uniform(0, src.rank - 1)]);
  }
  const char* type = to ? input_.of(types) : src.type;
  Wide bytes = type == nullptr ? 0 : size_of(type);
  for (int i = 0; i < std::clamp(src.rank, 0, CT_MAX_RANK); ++i) {
    bytes *= std::clamp<std::int64_t>(src.shape[static_cast<std::size_t>(i)], 0, memory_bytes + 1);
    if (bytes > memory_bytes) break;
  }
  std::byte* dst = room(bytes);
  const ct_options how = options();
  if (to) {
    const ct_epilogue values = epilogue();
    said(ct_permute_to(dst, type, &from, perm, &values, &how));
  } else {
    said(ct_permute(dst, &from, perm, &how));
  }
}

void Calls::transpose(bool to) {
  const std::int64_t rows = extent_of(input_), columns = extent_of(input_);
  const char* src_type = input_.of(types);
  const char* dst_type = to ? input_.of(types) : src_type;
  const auto bytes = [&](const char* type) -> Wide {
    if (rows < 0 || columns < 0 || rows > memory_bytes || columns > memory_bytes) return -1;
    return Wide{rows} * columns * size_of(type);
  };
  const bool fits = bytes(src_type) >= 0 && bytes(src_type) <= memory_bytes;
  const std::byte* src = fits ? src_.bytes.data() : nullptr;
  std::byte* dst = room(bytes(dst_type));
  const ct_options how = options();
  if (to) {
    const ct_epilogue values = epilogue();
    said(ct_transpose_to(dst, dst_type, src, rows, columns, src_type, &values, &how));
  } else {
    said(ct_transpose(dst, src, rows, columns, src_type, &how));
  }
}

void Calls::make_plan(bool with) {
  Plan& slot = plans_[static_cast<std::size_t>(input_.uniform(0, 2))];
  ct_plan_free(slot.plan);
  slot = {};
  const AnyView src = any_view(input_, src_);
  const AnyView dst = partner(input_, src, any_memory());
  auto to = dst.as<ct_view>();
  auto from = src.as<ct_const_view>();
  slot.dst = dst.data;
  slot.src = src.data;
  if (input_.one_in(3)) to.data = nullptr;
  if (input_.one_in(3)) from.data = nullptr;
  const ct_options how = options();
  const ct_epilogue values = epilogue();
  const bool made = said(with ? ct_plan_make_with(&slot.plan, &to, &from, &values, &how)
                              : ct_plan_make(&slot.plan, &to, &from, &how));
  if (made != (slot.plan != nullptr)) stop("a plan and a status that differ");
}

void Calls::execute() {
  const Plan& slot = plans_[static_cast<std::size_t>(input_.uniform(0, 2))];
  switch (input_.uniform(0, 4)) {
    case 0:
      said(ct_plan_execute(slot.plan, slot.dst, slot.src));
      return;
    case 1:
      said(ct_plan_execute_on(slot.plan, slot.dst, slot.src, nullptr));
      return;
    case 2: {
      const ct_epilogue values = epilogue();
      said(ct_plan_execute_with(slot.plan, slot.dst, slot.src, &values, nullptr));
      return;
    }
    default:
      if ((ct_plan_explain(slot.plan) == nullptr) != (slot.plan == nullptr)) stop("no words");
      if ((ct_plan_device(slot.plan) == nullptr) != (slot.plan == nullptr)) stop("no device");
  }
}

void Calls::amax() {
  const AnyView src = any_view(input_, src_);
  const auto from = src.as<ct_const_view>();
  double number = 0;
  const int threads = static_cast<int>(input_.uniform(-1, 3));
  if (input_.one_in(2)) {
    said(ct_amax(input_.one_in(20) ? nullptr : &number, &from, threads));
    return;
  }
  const AnyView dst = partner(input_, src, any_memory());
  const auto to = dst.as<ct_view>();
  said(ct_quantise_tensor(&to, &number, &from, threads));
}

void Calls::blocks() {
  const ct_block_options how = block_options();
  const int along = axis();
  const std::uint8_t what = input_.byte() % 5;
  AnyView values = any_view(input_, what == 1 || what == 3 ? dst_ : src_);
  // Blocks have the shape of the values, but for the axis along which they lie.
  const auto other = [&](const char* type, bool scales, Memory& memory) {
    AnyView view = values;
    view.data = nullptr;
    view.type = type;
    if (scales && along >= 0 && along < values.rank && values.rank <= CT_MAX_RANK) {
      auto& extent = view.shape[static_cast<std::size_t>(along)];
      if (extent > 0) extent = extent / 32 + (extent % 32 != 0);
    } else if (along >= 0 && along < values.rank && values.rank <= CT_MAX_RANK && how.pad == 1) {
      auto& extent = view.shape[static_cast<std::size_t>(along)];
      if (extent > 0 && extent < memory_bytes) extent = (extent + 31) / 32 * 32;
    }
    lay_out(input_, view);
    place(input_, view, memory);
    return view;
  };
  if (values.type == nullptr) return;
  const char* code = input_.one_in(2) ? "f8_e4m3" : "f8_e5m2";
  switch (what) {
    case 0: {
      const AnyView result = other("b34", true, dst_);
      const auto to = result.as<ct_view>();
      const auto from = values.as<ct_const_view>();
      said(ct_quantise_q8_0(&to, &from, along, &how));
      return;
    }
    case 1: {
      const AnyView source = other("b34", true, src_);
      const auto from = source.as<ct_const_view>();
      const auto to = values.as<ct_view>();
      said(ct_dequantise_q8_0(&to, &from, along, &how));
      return;
    }
    case 2: {
      const AnyView of_codes = other(code, false, dst_),
                    of_scales = other("u8", true, any_memory());
      const auto codes = of_codes.as<ct_view>(), scales = of_scales.as<ct_view>();
      const auto from = values.as<ct_const_view>();
      said(ct_quantise_mxfp8(&codes, &scales, &from, along, &how));
      return;
    }
    case 3: {
      const AnyView of_codes = other(code, false, src_), of_scales = other("u8", true, src_);
      const auto codes = of_codes.as<ct_const_view>(), scales = of_scales.as<ct_const_view>();
      const auto to = values.as<ct_view>();
      said(ct_dequantise_mxfp8(&to, &codes, &scales, along, &how));
      return;
    }
    default: {
      const auto from = values.as<ct_const_view>();
      const AnyView rows = any_view(input_, dst_), row_scales = any_view(input_, dst_);
      const AnyView columns = any_view(input_, dst_), column_scales = any_view(input_, dst_);
      const auto a = rows.as<ct_view>(), b = row_scales.as<ct_view>();
      const auto c = columns.as<ct_view>(), d = column_scales.as<ct_view>();
      said(ct_quantise_mxfp8_both(&a, &b, &c, &d, &from, &how));
      return;
    }
  }
}

void Calls::ggml() {
  struct Tensor {
    int type = 0;
    std::int64_t ne[4] = {};
    std::size_t nb[4] = {};
    bool fits = false;
  };
  constexpr int numbers[] = {0, 1, 8, 24, 25, 26, 27, 28, 30, 2, 10, 39, 77};
  const auto tensor = [&](const Tensor* like) {
    Tensor t;
    t.type = input_.of(numbers);
    Wide bytes = 0;
    const std::int64_t unit = t.type == 8 || t.type == 2 ? 32 : t.type == 10 ? 256 : 1;
    std::uint64_t step = t.type == 8    ? 34
                         : t.type == 2  ? 18
                         : t.type == 10 ? 84
                         : t.type == 39 ? 17
                                        : 8;
    constexpr std::int64_t some[] = {1, 2, 3, 32, 64, 5, 0};
    t.fits = true;
    for (int i = 0; i < 4; ++i) {
      t.ne[i] = like != nullptr && !input_.one_in(8) ? like->ne[i] : input_.of(some);
      t.nb[i] = input_.one_in(40) ? static_cast<std::size_t>(input_.word()) : step;
      const std::int64_t count = i == 0 ? (t.ne[i] + unit - 1) / unit : t.ne[i];
      if (t.nb[i] > memory_bytes || count > memory_bytes) t.fits = false;
      if (t.fits && count > 0) bytes += Wide{static_cast<std::int64_t>(t.nb[i])} * (count - 1);
      step = step * static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1));
      if (input_.one_in(12)) step += 34;
    }
    t.fits = t.fits && bytes + 256 <= memory_bytes;
    return t;
  };
  const Tensor src = tensor(nullptr), dst = tensor(&src);
  const bool can = said(ct_ggml_can_cpy(dst.type, dst.ne, dst.nb, src.type, src.ne, src.nb));
  const ct_options how = options();
  std::byte* to = dst.fits ? dst_.bytes.data() : nullptr;
  const std::byte* from = src.fits ? src_.bytes.data() : nullptr;
  const bool done =
      said(ct_ggml_cpy(to, dst.type, dst.ne, dst.nb, from, src.type, src.ne, src.nb, &how));
  if (done && !can) stop("what cannot be copied was copied");
}

void Calls::one() {
  const std::uint8_t what = input_.byte() % 16;
  switch (what) {
    case 0:
    case 1:
      return copy(what == 1);
    case 2:
    case 3:
      return permute(what == 3);
    case 4:
    case 5:
      return transpose(what == 5);
    case 6:
    case 7:
    case 8:
      return make_plan(what == 8);
    case 9:
    case 10:
      return execute();
    case 11:
      return amax();
    case 12:
    case 13:
      return blocks();
    case 14:
      return ggml();
    default:
      said(ct_copy(nullptr, nullptr, nullptr));
      said(ct_load_winners(input_.one_in(2) ? nullptr : "/nothing"));
      said(ct_plan_execute(nullptr, nullptr, nullptr));
  }
}

}  // namespace
}  // namespace cornerturn::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cornerturn::fuzz::Input input(data, size);
  cornerturn::fuzz::Calls calls(input);
  for (int i = 0; i < 12 && !input.empty(); ++i) calls.one();
  return 0;
}
