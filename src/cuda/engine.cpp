#include "cuda/engine.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "cuda/check.hpp"
#include "cuda/engine_kernels.hpp"
#include "plan/gpu/families.hpp"
#include "plan/gpu/parts.hpp"

namespace cornerturn::cuda {

namespace {

struct Functions {
  void (*launch)(const plan::Plan&, const Buffers&, Stream);
  bool (*is_loaded)(const plan::Plan&);
};

template <class... Family>
const Functions& of_number(int number, plan::TypeList<Family...>) {
  static constexpr Functions functions[] = {{&launch_family<Family>, &family_is_loaded<Family>}...};
  return functions[number];
}

const Functions& functions_for(const plan::Plan& plan) {
  return of_number(plan.chosen.row->number, plan::gpu::Families());
}

// Memory of the stream's pool, which goes back when the stream has come so far.
class Workspace {
 public:
  Workspace(std::int64_t bytes, Stream stream) : stream_(stream) {
    const auto size = static_cast<std::size_t>(bytes);
    if (const cudaError_t error = cudaMallocAsync(&at_, size, stream); error != cudaSuccess) {
      cudaGetLastError();
      if (error != cudaErrorMemoryAllocation) check_launch(error);
      throw Error(Status::out_of_memory,
                  "too little GPU memory for a workspace of " + std::to_string(bytes) + " bytes");
    }
  }
  ~Workspace() { cudaFreeAsync(at_, stream_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* get() const { return static_cast<std::byte*>(at_); }

 private:
  Stream stream_;
  void* at_ = nullptr;
};

void launch_all(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  plan::gpu::for_each_part(plan, buffers, [&](const plan::Plan& one, const Buffers& its) {
    functions_for(one).launch(one, its, stream);
  });
}

}  // namespace

void execute(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  if (plan.normal.elements() == 0) return;
  if (plan.workspace() == 0 || buffers.workspace != nullptr) {
    return launch_all(plan, buffers, stream);
  }
  const Workspace workspace(plan.workspace(), stream);
  Buffers all = buffers;
  all.workspace = workspace.get();
  launch_all(plan, all, stream);
}

bool is_loaded(const plan::Plan& plan) {
  if (plan.chosen.row->parts == nullptr) return functions_for(plan).is_loaded(plan);
  const auto& parts = plan.chosen.row->parts(plan.chosen.config)->list;
  return std::all_of(parts.begin(), parts.end(),
                     [](const auto& part) { return is_loaded(*part.plan); });
}

}  // namespace cornerturn::cuda
