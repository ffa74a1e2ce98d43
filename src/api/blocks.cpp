// The public functions that quantise in blocks: check, then run.
#include "cornerturn/blocks.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "api/block_calls.hpp"
#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/fp_environment.hpp"
#include "core/refuse.hpp"
#include "core/visible.hpp"
#include "cornerturn/amax.hpp"
#include "values/blocks.hpp"

namespace cornerturn {
namespace {

Options options_of(const BlockOptions& of_blocks) {
  Options options;
  options.threads = of_blocks.threads;
  options.kernel = of_blocks.kernel;
  options.effort = of_blocks.effort;
  options.stream = of_blocks.stream;
  options.device = of_blocks.device;
  options.lists = of_blocks.lists;
  return options;
}

Target target_for(const BlockCall& call, const Options& options) {
  Target target = target_of(options, call.pointers);
  if (target.gpu < 0) return target;
  check_elements_aligned(call.plain.name, call.plain.data, call.plain.type, call.plain.strides);
  const BlockBuffers& blocks = call.buffers.blocks;
  target.alignment = {true,
                      alignment_of(call.buffers.src),
                      alignment_of(call.buffers.dst),
                      alignment_of(blocks.scales),
                      alignment_of(blocks.second),
                      alignment_of(blocks.second_scales)};
  return target;
}

void check_pointers(const BlockCall& call) {
  if (call.problem.elements() == 0) return;
  for (const NamedPointer& one : call.pointers) {
    if (one.pointer == nullptr) refuse(fmt::format("{}.data = null", one.name));
  }
}

void run(const BlockCall& call, const BlockOptions& of_blocks) {
  const Options options = options_of(of_blocks);
  require_here(options);
  check_pointers(call);
  const Target target = target_for(call, options);
  if (call.problem.elements() == 0) return;
  if (call.problem.lists != nullptr) check_entries(call, target.gpu >= 0, options);
  const FoundPlan found = find_plan(call.problem, options, target, call.buffers);
  if (!found.executed) run(*found.plan, call.buffers, options.stream);
}

Plan plan_for(const BlockCall& call, const BlockOptions& of_blocks) {
  const Options options = options_of(of_blocks);
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, call.problem, options));
  }
  if (options.effort == Effort::measure) check_pointers(call);
  return Plan(find_plan(call.problem, options, target_for(call, options), call.buffers).plan);
}

template <class PlainView, class BlockView>
BlockCall call_of(BlockFormat format, const char* name, const PlainView& array,
                  const BlockView& values, const BlockView* scales, int axis, bool back,
                  const BlockOptions& options, const List& list = {}) {
  std::optional<BlockOperand> codes;
  if (scales != nullptr) codes.emplace("scales", *scales);
  return block_call(format, {name, array}, {"values", values}, codes ? &*codes : nullptr, axis,
                    back, options, list);
}

template <class PlainView, class BlockView>
BlockCall q8_call(const char* name, const PlainView& array, const BlockView& blocks, int axis,
                  bool back, const BlockOptions& options) {
  return block_call(BlockFormat::q8_0, {name, array}, {"blocks", blocks}, nullptr, axis, back,
                    options);
}

BothCopies copies_of(const View& rows, const View& row_scales, const View& columns,
                     const View& column_scales) {
  return {{"rows", rows},
          {"row_scales", row_scales},
          {"columns", columns},
          {"column_scales", column_scales}};
}

}  // namespace

void run_calls(const std::deque<BlockCall>& calls, const BlockOptions& options) {
  for (const BlockCall& call : calls) {
    check_pointers(call);
    if (call.problem.elements() > 0 && options.effort == Effort::estimate) plan_for(call, options);
  }
  for (const BlockCall& call : calls) run(call, options);
}

std::string format_names() {
  std::string names;
  for (const BlockRow& row : block_rows) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

BlockFormat block_format(std::string_view name) {
  for (const BlockRow& row : block_rows) {
    if (row.name == name) return row.format;
  }
  refuse(fmt::format("format = {} is none of {}", visible(name), format_names()));
}

void quantise(BlockFormat format, const View& values, const View* scales, const ConstView& src,
              int axis, const BlockOptions& options) {
  run(call_of(format, "src", src, values, scales, axis, false, options), options);
}

Plan plan_quantise(BlockFormat format, const View& values, const View* scales, const ConstView& src,
                   int axis, const BlockOptions& options) {
  return plan_for(call_of(format, "src", src, values, scales, axis, false, options), options);
}

void dequantise(BlockFormat format, const View& dst, const ConstView& values,
                const ConstView* scales, int axis, const BlockOptions& options) {
  run(call_of(format, "dst", dst, values, scales, axis, true, options), options);
}

Plan plan_dequantise(BlockFormat format, const View& dst, const ConstView& values,
                     const ConstView* scales, int axis, const BlockOptions& options) {
  return plan_for(call_of(format, "dst", dst, values, scales, axis, true, options), options);
}

void quantise_both(BlockFormat format, const View& rows, const View& row_scales,
                   const View& columns, const View& column_scales, const ConstView& src,
                   const BlockOptions& options) {
  run(both_call(format, copies_of(rows, row_scales, columns, column_scales), src, options),
      options);
}

Plan plan_quantise_both(BlockFormat format, const View& rows, const View& row_scales,
                        const View& columns, const View& column_scales, const ConstView& src,
                        const BlockOptions& options) {
  return plan_for(
      both_call(format, copies_of(rows, row_scales, columns, column_scales), src, options),
      options);
}

void quantise_listed(BlockFormat format, const View& values, const View* scales,
                     const ConstListedView& src, int axis, const BlockOptions& options) {
  run(call_of(format, "src", src.view, values, scales, axis, false, options, src.list), options);
}

Plan plan_quantise_listed(BlockFormat format, const View& values, const View* scales,
                          const ConstListedView& src, int axis, const BlockOptions& options) {
  return plan_for(call_of(format, "src", src.view, values, scales, axis, false, options, src.list),
                  options);
}

void quantise_both_listed(BlockFormat format, const View& rows, const View& row_scales,
                          const View& columns, const View& column_scales,
                          const ConstListedView& src, const BlockOptions& options) {
  run(both_call(format, copies_of(rows, row_scales, columns, column_scales), src, options),
      options);
}

void dequantise_listed(BlockFormat format, const ListedView& dst, const ConstView& values,
                       const ConstView* scales, int axis, const BlockOptions& options) {
  run(call_of(format, "dst", dst.view, values, scales, axis, true, options, dst.list), options);
}

float nvfp4_tensor_scale(double largest) {
  const DefaultFpEnvironment environment;
  return values::nvfp4_tensor_scale(static_cast<float>(largest));
}

float nvfp4_tensor_scale(const ConstView& src, const BlockOptions& options) {
  Options search = options_of(options);
  search.kernel.clear();
  return nvfp4_tensor_scale(amax(src, search));
}

void quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                   const BlockOptions& options) {
  run(q8_call("src", src, blocks, axis, false, options), options);
}

Plan plan_quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                        const BlockOptions& options) {
  return plan_for(q8_call("src", src, blocks, axis, false, options), options);
}

void dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                     const BlockOptions& options) {
  run(q8_call("dst", dst, blocks, axis, true, options), options);
}

Plan plan_dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                          const BlockOptions& options) {
  return plan_for(q8_call("dst", dst, blocks, axis, true, options), options);
}

void quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                    const BlockOptions& options) {
  quantise(mxfp8_of({"values", values}), values, &scales, src, axis, options);
}

Plan plan_quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                         const BlockOptions& options) {
  return plan_quantise(mxfp8_of({"values", values}), values, &scales, src, axis, options);
}

void dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales, int axis,
                      const BlockOptions& options) {
  dequantise(mxfp8_of({"values", values}), dst, values, &scales, axis, options);
}

Plan plan_dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales,
                           int axis, const BlockOptions& options) {
  return plan_dequantise(mxfp8_of({"values", values}), dst, values, &scales, axis, options);
}

void quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                         const View& column_scales, const ConstView& src,
                         const BlockOptions& options) {
  quantise_both(mxfp8_of({"rows", rows}), rows, row_scales, columns, column_scales, src, options);
}

Plan plan_quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                              const View& column_scales, const ConstView& src,
                              const BlockOptions& options) {
  return plan_quantise_both(mxfp8_of({"rows", rows}), rows, row_scales, columns, column_scales, src,
                            options);
}

}  // namespace cornerturn
