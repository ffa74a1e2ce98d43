// Who takes part in a measurement across the link.
#include <fmt/format.h>

#include <algorithm>

#include "core/normalise.hpp"
#include "cuda/check.hpp"
#include "cuda/crossing.hpp"
#include "link/measurement.hpp"
#include "plan/link/cut.hpp"
#include "plan/plan.hpp"

namespace cornerturn::bench::link {
namespace {

constexpr const char* route_names[] = {"direct", "batch", "chunks", "packed"};
constexpr std::int64_t least_run = 64;         // bytes
constexpr std::int64_t most_copies = 1 << 16;  // of a batch

Extents in_bytes(const std::vector<std::int64_t>& strides, ElementType type) {
  Extents out = strides;
  for (std::int64_t& stride : out) stride *= type.size();
  return out;
}

// Bytes of the last mode, if both sides have them in one piece; else 0.
std::int64_t run_of(const Problem& normal) {
  if (normal.modes.empty()) return 0;
  const Mode& last = normal.modes.back();
  const std::int64_t element = normal.src_type.size();
  return last.src_stride == element && last.dst_stride == element ? last.extent * element : 0;
}

}  // namespace

View Measurement::dst_view(std::byte* start) const {
  return View(start + c_.layout.dst_offset * c_.to.size(), c_.to, c_.layout.shape,
              in_bytes(c_.layout.dst_strides, c_.to));
}

ConstView Measurement::src_view(const std::byte* start) const {
  return ConstView(start + c_.layout.src_offset * c_.from.size(), c_.from, c_.layout.shape,
                   in_bytes(c_.layout.src_strides, c_.from));
}

Epilogue Measurement::epilogue(bool vectors_on_gpu) const {
  Epilogue epilogue;
  if (c_.scaled_axis < 0) return epilogue;
  epilogue.scale = sides_.vectors(vectors_on_gpu);
  epilogue.bias = epilogue.scale + c_.layout.shape[static_cast<std::size_t>(c_.scaled_axis)];
  epilogue.scale_mode = epilogue.bias_mode = c_.scaled_axis;
  return epilogue;
}

void Measurement::cross(std::byte* to, const std::byte* from, std::int64_t bytes) const {
  cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind(), sides_.stream()),
              "cudaMemcpyAsync");
}

void Measurement::add_library(const std::string& name, const std::string& kernel, int blocks) {
  Options options;
  options.stream = sides_.stream();
  options.kernel = kernel;
  options.blocks = blocks;
  const Epilogue values = epilogue(false);
  try {
    const Plan plan = make_plan(dst_view(dst(0)), src_view(src(0)), values, options);
    contestants_.push_back({name,
                            [this, values, options](int slot) {
                              copy(dst_view(dst(slot)), src_view(src(slot)), values, options);
                            },
                            plan.to_string()});
  } catch (const Error& error) {
    if (kernel == "any") throw;
    refused_[name] = error.what();
  }
}

void Measurement::add_own() {
  add_library("cornerturn", "any");
}

void Measurement::add_routes() {
  for (const char* route : route_names) add_library(route, route);
}

void Measurement::add_few_blocks() {
  for (const int blocks : {4, 8, 16, 32}) {
    add_library(fmt::format("direct, {} blocks", blocks), "direct", blocks);
  }
}

void Measurement::add_candidates() {
  Options options;
  options.stream = sides_.stream();
  options.kernel = "any";
  options.effort = Effort::estimate;
  const Epilogue values = epilogue(false);
  const Plan made = make_plan(dst_view(dst(0)), src_view(src(0)), values, options);
  for (const plan::Candidate& candidate : plan::candidates_of(made.impl())) {
    plan::Plan plan = made.impl();
    plan.choose(candidate, plan::Choice::forced);
    const auto run = [this, plan, values](int slot) {
      cuda::execute_across(
          plan, {dst_view(dst(slot)).data, src_view(src(slot)).data, {values.scale, values.bias}},
          sides_.stream());
    };
    contestants_.push_back(
        {fmt::format("{}: {}", candidate.row->name, describe(candidate, plan.normal)), run,
         to_string(plan)});
  }
}

void Measurement::add_dense_copies() {
  const auto add = [&](const char* name, Memory memory) {
    std::byte* const start = sides_.host(memory, c_.into_gpu);
    contestants_.push_back({name, [this, start](int slot) {
                              std::byte* const there = start + slot * slots_.host_step;
                              if (c_.into_gpu) return cross(on_gpu(slot), there, c_.host_bytes());
                              cross(there, on_gpu(slot), c_.host_bytes());
                            }});
    contestants_.back().is_copy = true;
  };
  add("dense", Memory::pinned);
  if (c_.memory != Memory::pinned) add("dense here", c_.memory);
}

// The bytes from the first to the last element of the host's side cross as they lie.
void Measurement::add_dense_then_permute() {
  using cornerturn::plan::link::Side;
  const Problem problem = c_.problem();
  const Side side = c_.into_gpu ? Side::source : Side::destination;
  cornerturn::plan::link::Span span = span_of(problem, side);
  span.first += c_.into_gpu ? problem.src_offset : problem.dst_offset;
  Options options;
  options.stream = sides_.stream();
  options.effort = Effort::estimate;
  const Epilogue values = epilogue(true);
  const Plan plan = c_.into_gpu ? make_plan(dst_view(dst(0)), src_view(scratch_), values, options)
                                : make_plan(dst_view(scratch_), src_view(src(0)), values, options);
  // As the library's own call: by the function that users call, which looks its plan up.
  const auto permute = [this, values, options](std::byte* to, const std::byte* from) {
    copy(dst_view(to), src_view(from), values, options);
  };
  contestants_.push_back({"dense, then permuted",
                          [this, span, permute](int slot) {
                            if (c_.into_gpu) {
                              cross(scratch_ + span.first, host(slot) + span.first, span.bytes);
                              return permute(dst(slot), scratch_);
                            }
                            permute(scratch_, src(slot));
                            cross(host(slot) + span.first, scratch_ + span.first, span.bytes);
                          },
                          plan.to_string()});
  contestants_.back().overwrites = !c_.into_gpu && !is_dense(problem, side);
}

void Measurement::add_copies_of_runs() {
  if (!c_.moves()) return;
  const Problem normal = normalise(c_.problem());
  add_memcpy_2d(normal);
  add_batch(normal);
}

void Measurement::add_memcpy_2d(const Problem& normal) {
  const std::int64_t width = run_of(normal);
  if (width == 0 || normal.rank() != 2) return;
  const Mode rows = normal.modes[0];
  if (rows.src_stride < width || rows.dst_stride < width) return;
  contestants_.push_back(
      {"cudaMemcpy2DAsync", [=, this, from = normal.src_offset, to = normal.dst_offset](int slot) {
         cuda::check(
             cudaMemcpy2DAsync(dst(slot) + to, static_cast<std::size_t>(rows.dst_stride),
                               src(slot) + from, static_cast<std::size_t>(rows.src_stride),
                               static_cast<std::size_t>(width),
                               static_cast<std::size_t>(rows.extent), kind(), sides_.stream()),
             "cudaMemcpy2DAsync");
       }});
}

#if CUDART_VERSION >= 13000
namespace {

struct Batch {
  std::vector<void*> to;
  std::vector<const void*> from;
};

Batch batch_of(const Problem& normal, std::byte* dst, const std::byte* src) {
  Batch batch{{dst + normal.dst_offset}, {src + normal.src_offset}};
  for (int k = 0; k + 1 < normal.rank(); ++k) {
    const Mode& mode = normal.modes[k];
    Batch longer;
    for (std::size_t i = 0; i < batch.to.size(); ++i) {
      for (std::int64_t step = 0; step < mode.extent; ++step) {
        longer.to.push_back(static_cast<std::byte*>(batch.to[i]) + step * mode.dst_stride);
        longer.from.push_back(static_cast<const std::byte*>(batch.from[i]) +
                              step * mode.src_stride);
      }
    }
    batch = std::move(longer);
  }
  return batch;
}

}  // namespace

// The lists are there before the clock starts.
void Measurement::add_batch(const Problem& normal) {
  const std::int64_t run = run_of(normal);
  if (run < least_run || c_.memory != Memory::pinned) return;
  const std::int64_t copies = normal.bytes() / run;
  if (copies < 2 || copies > most_copies) return;
  std::vector<Batch> batches;
  for (int slot = 0; slot < slots_.count; ++slot) {
    batches.push_back(batch_of(normal, dst(slot), src(slot)));
  }
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(copies),
                                       static_cast<std::size_t>(run));
  contestants_.push_back(
      {"cudaMemcpyBatchAsync", [this, batches = std::move(batches), sizes](int slot) {
         const Batch& batch = batches[static_cast<std::size_t>(slot)];
         cudaMemcpyAttributes attributes{};
         attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
         std::size_t first = 0;
         cuda::check(cudaMemcpyBatchAsync(batch.to.data(), batch.from.data(), sizes.data(),
                                          sizes.size(), &attributes, &first, 1, sides_.stream()),
                     "cudaMemcpyBatchAsync");
       }});
}
#else
void Measurement::add_batch(const Problem&) {}
#endif

}  // namespace cornerturn::bench::link
