// The rungs of the ladder for a profiler, `profile.py`, to compare with what the emulator
// predicts, or the evaluation of CuTe layouts.
//   ladder_probe predict   the cases and their legs, as JSON; needs no GPU
//   ladder_probe launch N  launches each case N times, in the same order
// and for `stalls.py`, which asks what threads wait for:
//   ladder_probe large SIDE list  every rung on SIDE x SIDE floats, and stacks of such matrices'
//   size ladder_probe large SIDE run   launches each of them once, in the same order
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "workshop/analyse/cute_legs.hpp"
#include "workshop/cuda/ladder.hpp"
#include "workshop/ladder/emulate.hpp"

namespace {

using cornerturn::Leg;
using cornerturn::ladder::Matrix;
using cornerturn::ladder::Rung;
using Json = nlohmann::ordered_json;

struct Case {
  const Rung* rung;
  Matrix matrix;
};

// Whole tiles with 16-byte rows, then ragged ones without. Rungs that this build has on the device.
std::vector<Case> cases() {
  std::set<std::string, std::less<>> on_device;
  for (const auto& rung : cornerturn::cuda::rungs()) on_device.insert(rung.name);
  std::vector<Case> list;
  for (const Matrix& shape : {Matrix{512, 512, 1}, Matrix{301, 130, 1}}) {
    for (const int bytes : {1, 2, 4, 8}) {
      const Matrix matrix{shape.rows, shape.cols, bytes};
      for (const Rung& rung : cornerturn::ladder::rungs()) {
        if (on_device.contains(rung.name) && !why_not(rung, matrix))
          list.push_back({&rung, matrix});
      }
    }
  }
  return list;
}

// Legs of the copy engine, which the counters of the lanes' instructions do not see.
bool by_copy_engine(const Rung& rung, const Leg& leg) {
  if (rung.family == cornerturn::ladder::Family::kernel_form) return false;
  for (const cornerturn::CuteLeg& part : cornerturn::cute_legs(rung.name)) {
    if (part.op == leg.op && part.width == leg.width) return part.tma;
  }
  return false;
}

Json json_of(const Leg& leg) {
  Json out = {{"op", cornerturn::name(leg.op)},
              {"place", to_string(leg.site)},
              {"bytes_a_lane", leg.width},
              {"requests", leg.requests}};
  if (leg.is_global()) {
    out["sectors"] = leg.sectors;
    out["sectors_ideal"] = leg.sectors_ideal;
  }
  if (leg.is_shared()) {
    out["wavefronts"] = leg.wavefronts;
    out["wavefronts_ideal"] = leg.wavefronts_ideal;
  }
  return out;
}

void print_predictions() {
  Json out = Json::array();
  for (const Case& c : cases()) {
    Json legs = Json::array();
    for (const Leg& leg : predict(*c.rung, c.matrix).report.legs) {
      legs.push_back(json_of(leg));
      if (by_copy_engine(*c.rung, leg)) legs.back()["copy_engine"] = true;
    }
    out.push_back({{"rung", c.rung->name},
                   {"rows", c.matrix.rows},
                   {"cols", c.matrix.cols},
                   {"element_bytes", c.matrix.bytes},
                   {"legs", legs}});
  }
  std::puts(out.dump().c_str());
}

// Stacks of sixteen matrices have the size of one that is four times as long and as wide.
std::vector<Case> large_cases(std::int64_t side) {
  std::vector<Case> list;
  const Matrix one{side, side, 4};
  std::vector<Matrix> stacks = {Matrix{side / 4, side / 4, 4, 16},
                                Matrix{side / 4, side / 4, 4, 16}};
  stacks.back().fused = true;
  for (const auto& info : cornerturn::cuda::rungs()) {
    const Rung& rung = *cornerturn::ladder::find_rung(info.name);
    if (!why_not(rung, one)) list.push_back({&rung, one});
    for (const Matrix& stack : stacks) {
      if (!why_not(rung, stack)) list.push_back({&rung, stack});
    }
  }
  return list;
}

void list_large(std::int64_t side) {
  Json out = Json::array();
  for (const Case& c : large_cases(side)) {
    out.push_back({{"rung", c.rung->name},
                   {"rows", c.matrix.rows},
                   {"cols", c.matrix.cols},
                   {"element_bytes", c.matrix.bytes},
                   {"batch", c.matrix.batch},
                   {"fused", c.matrix.fused}});
  }
  std::puts(out.dump().c_str());
}

void launch_large(std::int64_t side) {
  for (const Case& c : large_cases(side)) {
    cornerturn::cuda::MeasureOptions options;
    options.time = false;
    cornerturn::cuda::LadderCase matrices(c.matrix.rows, c.matrix.cols, c.matrix.bytes, options,
                                          {c.matrix.batch, c.matrix.fused});
    matrices.launch(c.rung->name);
  }
}

void launch_all(int times) {
  for (const Case& c : cases()) {
    cornerturn::cuda::MeasureOptions options;
    options.time = false;
    cornerturn::cuda::LadderCase matrices(c.matrix.rows, c.matrix.cols, c.matrix.bytes, options);
    for (int i = 0; i < times; ++i) matrices.launch(c.rung->name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "predict") == 0) {
      print_predictions();
      return 0;
    }
    if (argc == 3 && std::strcmp(argv[1], "launch") == 0) {
      launch_all(std::atoi(argv[2]));
      return 0;
    }
    if (argc == 4 && std::strcmp(argv[1], "large") == 0) {
      const std::int64_t side = std::atoll(argv[2]);
      std::strcmp(argv[3], "list") == 0 ? list_large(side) : launch_large(side);
      return 0;
    }
  } catch (const cornerturn::Error& error) {
    std::fprintf(stderr, "ladder_probe: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: ladder_probe predict | launch N | large SIDE list|run\n");
  return 2;
}
