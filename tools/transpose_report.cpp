#include "transpose_report.hpp"
#include "io/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cornerturn::cli {
namespace {

double rate_of(const TransposeReport& report) {
  return static_cast<double>(report.moved_bytes) / std::max(report.seconds, 1e-9);
}

nlohmann::json to_json(const TransposeReport& report, const TransposeArguments& arguments,
                       const io::InputArray& input, const io::Progress& progress) {
  nlohmann::json json = {{"in", arguments.in},
                         {"out", arguments.out},
                         {"dtype", io::descr_text(input.header)},
                         {"item_size", input.header.item_size},
                         {"fortran_order", input.header.fortran_order},
                         {"shape", input.header.shape},
                         {"permutation", report.permutation},
                         {"result_shape", report.result.shape},
                         {"bytes", input.bytes},
                         {"result_dtype", io::descr_text(report.result)},
                         {"result_bytes", report.result_bytes},
                         {"seconds", report.seconds},
                         {"bytes_per_second", rate_of(report)},
                         {"verified", arguments.verify}};
  if (input.bytes_after > 0) json["bytes_after"] = input.bytes_after;
  json["synced"] = report.synced;
  if (report.synced) json["sync_seconds"] = report.sync_seconds;
  if (arguments.verify) json["verify_seconds"] = report.verify_seconds;
  if (!report.blocks.empty()) json["blocks"] = report.blocks;
  if (report.index) {
    json["index"] = {{"file", arguments.index.file},
                     {"axis", report.index->axis},
                     {"entries", report.index->entries}};
  }
  if (!arguments.scales.file.empty()) json["scales"] = arguments.scales.file;
  if (report.tensor_scale) json["tensor_scale"] = *report.tensor_scale;
  if (!report.schedule) return json;
  if (!report.kernel.empty()) json["kernel"] = report.kernel;
  json["device"] = report.device;
  json["schedule"] = nlohmann::json::parse(io::to_json(*report.schedule));
  json["bytes_read"] = progress.bytes_read.load();
  json["bytes_written"] = progress.bytes_written.load();
  return json;
}

}  // namespace

void TransposeReport::print(const TransposeArguments& arguments, const io::InputArray& input,
                            const io::Progress& progress) const {
  if (arguments.json) {
    const std::string text = io::report_text(to_json(*this, arguments, input, progress));
    arguments.to_pipe ? io::print_error(text) : io::print_as_is(text);
    return;
  }
  if (arguments.to_pipe) return;
  io::print("{} {} -> {} {}  {}\n", visible(arguments.in), io::shape_text(input.header.shape),
            visible(arguments.out), io::shape_text(result.shape), visible(types));
  if (input.bytes_after > 0) {
    io::print("behind   {} in IN that are left out, as NumPy does\n",
              io::size_text(input.bytes_after));
  }
  if (index) {
    io::print("indices  {} of axis {} from {}\n", index->entries, index->axis,
              visible(arguments.index.file));
  }
  if (!schedule) return;
  io::print("moved    {} in {:.3f} s, {}/s\n", io::size_text(moved_bytes), seconds,
            io::size_text(static_cast<std::int64_t>(rate_of(*this))));
  const bool on_gpu = device != "cpu";
  if (!kernel.empty()) io::print("kernel   {}{}\n", kernel, on_gpu ? " on " + device : "");
  if (tensor_scale) io::print("scale    {} for the tensor\n", *tensor_scale);
  io::print("route    {}\n", io::to_string(*schedule));
  if (synced) io::print("synced   to the disk in {:.3f} s\n", sync_seconds);
  if (arguments.verify) io::print("verified every element, {:.3f} s\n", verify_seconds);
}

}  // namespace cornerturn::cli
