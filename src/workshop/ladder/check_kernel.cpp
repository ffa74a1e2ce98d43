#include "workshop/ladder/check_kernel.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "workshop/ladder/emulate.hpp"
#include "workshop/ladder/explain.hpp"

namespace cornerturn::ladder {
namespace {

nlohmann::ordered_json json_of_first(const Emulation& run) {
  nlohmann::ordered_json requests = nlohmann::ordered_json::array();
  for (const simt::Request& request : run.first) {
    requests.push_back({{"leg", cornerturn::name(request.op)},
                        {"bytes_a_lane", request.lanes.width},
                        {"active", request.lanes.active},
                        {"address", request.lanes.address}});
  }
  return requests;
}

std::string dim_text(const Dim3& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

std::string text_of(const Rung& kernel, const std::vector<Emulation>& runs) {
  std::string out = fmt::format("{}, elements of {} B, in the emulator with all detectors on\n",
                                kernel.name, runs.back().matrix.bytes);
  for (const Emulation& run : runs) {
    const std::string verdict =
        run.verified()         ? "every element is right, and nothing is found"
        : run.findings.empty() ? "wrong: " + run.mismatch
                               : fmt::format("{} {}", run.findings.size(),
                                             run.findings.size() == 1 ? "finding" : "findings");
    out += fmt::format("  {:<13} {}\n", fmt::format("{} x {}", run.matrix.rows, run.matrix.cols),
                       verdict);
  }
  const Emulation& last = runs.back();
  out += fmt::format(
      "\nmatrix    {} x {}\nlaunch    {} blocks of {} threads, {} B of shared memory "
      "a block\n",
      last.matrix.rows, last.matrix.cols, last.launch.grid.count(), dim_text(last.launch.block),
      last.shared_bytes);
  for (const Sm& sm : sms) {
    const Residency fits = residency(last, sm);
    out += fmt::format(
        "resident  {} blocks, {} of {} threads of an SM of compute capability {}; "
        "registers are not counted\n",
        fits.blocks, fits.threads, sm.threads, sm.name);
  }
  out += "\n" + last.report.text();
  if (last.report.legs.empty()) out += "It makes no access through its context.\n";
  if (!last.report.legs.empty()) {
    out +=
        "\nThe first accesses of the first warp: row,column of the matrices, slots of the tile\n" +
        path_picture(last, kernel);
  }
  if (const auto& tile = kernel.body(last.matrix.bytes)->tile) {
    out += fmt::format("\nThe banks in which elements of its {} x {} tile lie\n{}", tile->rows,
                       tile->columns, bank_picture(*tile));
  }
  return out;
}

}  // namespace

std::string check_kernel(const Rung& kernel, int bytes, const std::vector<CheckedShape>& shapes,
                         std::uint64_t steps, std::uint64_t blocks) {
  std::vector<Emulation> runs;
  for (const CheckedShape& shape : shapes) {
    const Matrix matrix = make_matrix(shape.rows, shape.cols, bytes);
    runs.push_back(emulate(kernel, matrix, nullptr, {}, {steps, blocks}));
  }
  const Emulation& last = runs.back();
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(last.report.json());
  out["kernel"] = kernel.name;
  out["transposes"] = kernel.transposes;
  out["element_bytes"] = bytes;
  out["tile_rows"] = last.report.tile == TileKind::plain      ? "one after the other"
                     : last.report.tile == TileKind::arranged ? "padded or swizzled"
                                                              : "unknown";
  out["verified"] = true;
  out["shapes"] = nlohmann::ordered_json::array();
  for (const Emulation& run : runs) {
    if (!run.verified()) out["verified"] = false;
    out["shapes"].push_back({{"shape", {run.matrix.rows, run.matrix.cols}},
                             {"verified", run.verified()},
                             {"findings", run.findings},
                             {"mismatch", run.mismatch}});
  }
  const Launch& launch = last.launch;
  out["launch"] = {{"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                   {"block", {launch.block.x, launch.block.y, launch.block.z}}};
  out["shared_bytes"] = last.shared_bytes;
  out["first"] = json_of_first(last);
  out["text"] = text_of(kernel, runs);
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

int check_main(const Rung& kernel, int bytes, int argc, char** argv) {
  std::vector<CheckedShape> shapes;
  for (int i = 4; i + 1 < argc; i += 2)
    shapes.push_back({std::atoll(argv[i]), std::atoll(argv[i + 1])});
  std::string report;
  const auto refuse = [&](const std::string& why) {
    report = nlohmann::ordered_json{{"error", why}}.dump();
  };
  try {
    const auto steps = static_cast<std::uint64_t>(std::atoll(argv[2]));
    const auto blocks = static_cast<std::uint64_t>(std::atoll(argv[3]));
    report = check_kernel(kernel, bytes, shapes, steps, blocks);
  } catch (const Error& error) {
    refuse(error.what());
  } catch (const std::exception& error) {
    refuse(fmt::format("the kernel throws an exception: {}", error.what()));
  } catch (...) {
    refuse("the kernel throws an exception");
  }
  std::ofstream file(argv[1]);
  file << report << std::endl;
  return file.good() ? 0 : 1;
}

}  // namespace cornerturn::ladder
