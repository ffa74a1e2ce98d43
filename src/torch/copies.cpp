#include "torch/copies.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/problem.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/view.hpp"
#include "cuda/peers.hpp"
#include "torch/is_pytorchs.hpp"
#include "torch/strides.hpp"

namespace cornerturn::torch {
namespace {

std::atomic<int (*)()> thread_limit = nullptr;
std::atomic<std::int64_t> done = 0;

// A tensor that a boxed kernel was given, or has made.
class Owned {
 public:
  explicit Owned(TensorHandle handle) : handle_(handle) {}
  explicit Owned(Value value) : handle_(reinterpret_cast<TensorHandle>(value)) {}
  ~Owned() {
    if (handle_ != nullptr) shim().delete_tensor_object(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  TensorHandle get() const { return handle_; }
  TensorObject& operator*() const { return *handle_; }
  Value release() { return reinterpret_cast<Value>(std::exchange(handle_, nullptr)); }

 private:
  TensorHandle handle_;
};

// What says where a tensor's elements lie. It is valid as long as the tensor is not changed.
struct Layout {
  std::int64_t rank = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;  // in elements
  std::int32_t dtype = 0;
  std::int32_t device_type = 0;
  std::int32_t device = 0;

  bool has_size_of(const Layout& other) const {
    return rank == other.rank && std::equal(sizes, sizes + rank, other.sizes);
  }
};

Layout layout_of(TensorHandle x) {
  Layout layout;
  const Shim& torch = shim();
  torch.get_dim(x, &layout.rank);
  torch.get_sizes(x, &layout.sizes);
  torch.get_strides(x, &layout.strides);
  torch.get_dtype(x, &layout.dtype);
  torch.get_device_type(x, &layout.device_type);
  torch.get_device_index(x, &layout.device);
  return layout;
}

// Is there something to be done that PyTorch's kernel does not do by one memcpy?
bool is_permuted(const Layout& x, const std::int64_t* strides) {
  bool differs = false, empty = false;
  for (std::int64_t i = 0; i < x.rank; ++i) {
    empty |= x.sizes[i] == 0;
    differs |= x.sizes[i] > 1 && x.strides[i] != strides[i];
  }
  return differs && !empty && x.rank <= max_rank;
}

// Does the memory hold the values as they are, without a bit that says otherwise?
bool is_plain(const TensorObject& x) {
  const Shim& torch = shim();
  return !torch.is_neg(x) && !torch.is_conj(x) && !torch.is_zerotensor(x);
}

// An at::Tensor is a pointer to its implementation.
bool has_names(TensorHandle x) {
  return shim().has_names(*reinterpret_cast<void* const*>(x));
}

template <class SomeView>
void describe(SomeView& view, const Layout& x, int itemsize) {
  view.type = ElementType::bytes(itemsize);
  view.shape.assign(x.sizes, x.sizes + x.rank);
  view.strides.resize(view.shape.size());
  for (std::size_t i = 0; i < view.strides.size(); ++i) view.strides[i] = x.strides[i] * itemsize;
}

// As many as PyTorch would use, and no more than Cornerturn may.
int threads() {
  std::uint32_t of_pytorch = 0;
  shim().get_num_threads(&of_pytorch);
  const int limit = thread_limit.load(std::memory_order_relaxed)();
  const auto most = static_cast<int>(of_pytorch);
  return limit == 0 || (most > 0 && most < limit) ? most : limit;
}

// dst[i] = src[i] for every index i. False, and nothing is done, where the library refuses or
// PyTorch is to do it.
bool try_to_move(TensorHandle dst, const Layout& to, TensorHandle src, const Layout& from,
                 Device device) {
  const Shim& torch = shim();
  thread_local View dst_view(nullptr, ElementType(Kind::u8), {}, {});
  thread_local ConstView src_view(nullptr, ElementType(Kind::u8), {}, {});
  const auto itemsize = static_cast<int>(torch.dtype_element_size(from.dtype));
  describe(dst_view, to, itemsize);
  describe(src_view, from, itemsize);
  torch.get_const_data_ptr(src, &src_view.data);
  torch.get_mutable_data_ptr(dst, &dst_view.data);
  if (src_view.data == nullptr || dst_view.data == nullptr) return false;
  Options options;
  options.threads = threads();
  try {
    const auto move = [&](const Target& target) {
      const FoundPlan found = find_plan(dst_view, src_view, {}, options, target);
      if (is_pytorchs(*found.plan)) return false;
      run_found(found, dst_view, src_view, {}, options);
      done.fetch_add(1, std::memory_order_relaxed);
      return true;
    };
    if (device == Device::cpu) return move(Target{});
    if (torch.current_cuda_stream(from.device, &options.stream) != 0) return false;
    const cuda::CurrentGpu current(from.device);
    return move(target_on(from.device, dst_view.data, src_view.data));
  } catch (const Error&) {
    return false;
  }
}

// aten::clone(Tensor self, *, MemoryFormat? memory_format) as PyTorch does it.
TensorHandle clone_by_pytorch(const TensorObject& x, std::optional<MemoryFormat> format) {
  void* const place = ::operator new(sizeof(void*));
  try {
    ReturnedTensor result = shim().clone(x, format);
    *static_cast<void**>(place) = std::exchange(result.implementation, nullptr);
  } catch (...) {
    ::operator delete(place);
    throw;
  }
  return static_cast<TensorHandle>(place);
}

// The strides of a clone in this format, or in none. False where they are PyTorch's business.
bool strides_of_clone(std::optional<MemoryFormat> format, const Layout& x,
                      std::array<std::int64_t, max_rank>& strides) {
  if (x.rank > max_rank || std::find(x.sizes, x.sizes + x.rank, 0) != x.sizes + x.rank) {
    return false;
  }
  if (format) return strides_for(*format, x.rank, x.sizes, strides);
  if (!lies_together(x.rank, x.sizes, x.strides)) return false;
  std::copy(x.strides, x.strides + x.rank, strides.begin());
  return true;
}

// The value of an optional argument, which is given back.
std::optional<MemoryFormat> format_of(Value value) {
  if (value == 0) return std::nullopt;
  auto* const held = reinterpret_cast<Value*>(value);
  const auto format = static_cast<MemoryFormat>(*held);
  delete held;
  return format;
}

template <Device device>
void clone(Value* stack, std::uint64_t, std::uint64_t) {
  const Owned x(stack[0]);
  const std::optional<MemoryFormat> format = format_of(stack[1]);
  const Layout from = layout_of(x.get());
  Layout to = from;
  std::array<std::int64_t, max_rank> strides;
  // On a CPU, PyTorch's own clone would come back to copy() by way of the dispatcher, which takes
  // longer than to move a small tensor.
  const bool known = strides_of_clone(format, from, strides);
  const bool permuted = known && is_permuted(from, strides.data());
  const bool made_here = known && (permuted || device == Device::cpu);
  if (made_here && is_plain(*x) && !has_names(x.get())) {
    TensorHandle made = nullptr;
    to.strides = strides.data();
    if (shim().empty_strided(to.rank, to.sizes, to.strides, to.dtype, to.device_type, to.device,
                             &made) == 0) {
      Owned out(made);
      const bool moved = permuted && try_to_move(made, to, x.get(), from, device);
      if (!moved) shim().copy(*out, *x, false);
      stack[0] = out.release();
      return;
    }
  }
  stack[0] = reinterpret_cast<Value>(clone_by_pytorch(*x, format));
}

template <Device device>
void copy(Value* stack, std::uint64_t, std::uint64_t) {
  Owned self(stack[0]);
  const Owned src(stack[1]);
  const bool non_blocking = stack[2] != 0;
  const Layout to = layout_of(self.get());
  const Layout from = layout_of(src.get());
  const bool moved = to.dtype == from.dtype && to.device_type == from.device_type &&
                     to.device == from.device && to.has_size_of(from) &&
                     is_permuted(from, to.strides) && is_plain(*src) && is_plain(*self) &&
                     !has_names(self.get()) && !has_names(src.get()) &&
                     try_to_move(self.get(), to, src.get(), from, device);
  if (!moved) shim().copy(*self, *src, non_blocking);
  stack[0] = self.release();
}

template <Device device>
void implement(LibraryHandle library) {
  const Shim& torch = shim();
  if (torch.library_impl(library, "clone", clone<device>, built_for) != 0 ||
      torch.library_impl(library, "copy_", copy<device>, built_for) != 0) {
    throw Error(Status::unsupported, "PyTorch: it takes no kernel for aten::clone or aten::copy_");
  }
}

}  // namespace

Copies::Copies(Device device, int (*limit)()) {
  const Shim& torch = shim();
  if (device == Device::cuda && torch.current_cuda_stream == nullptr) return;
  thread_limit.store(limit, std::memory_order_relaxed);
  const char* const key = device == Device::cpu ? "CPU" : "CUDA";
  if (torch.library_init_impl("aten", key, __FILE__, __LINE__, &library_) != 0) {
    throw Error(Status::unsupported, "PyTorch: it takes no kernels of others for its operators");
  }
  try {
    device == Device::cpu ? implement<Device::cpu>(library_) : implement<Device::cuda>(library_);
  } catch (...) {
    torch.delete_library_object(library_);
    throw;
  }
}

Copies::~Copies() {
  if (library_ != nullptr) shim().delete_library_object(library_);
}

std::int64_t copies_done() {
  return done.load(std::memory_order_relaxed);
}

}  // namespace cornerturn::torch
