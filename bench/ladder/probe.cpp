// The rungs of the ladder for a profiler, `profile.py`, to compare with what the emulator predicts.
//   ladder_probe predict   the cases and their legs, as JSON; needs no GPU
//   ladder_probe launch    launches each case once, in the same order
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "cuda/ladder.hpp"
#include "ladder/emulate.hpp"

namespace {

using cornerturn::Leg;
using cornerturn::ladder::Matrix;
using cornerturn::ladder::Rung;
using Json = nlohmann::ordered_json;

struct Case {
  const Rung* rung = nullptr;
  Matrix matrix;
};

// Whole tiles with 16-byte rows, then ragged ones without. By size, so that a matrix serves many.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Matrix& shape : {Matrix{512, 512, 1}, Matrix{301, 130, 1}}) {
    for (const int bytes : {1, 2, 4, 8}) {
      for (const Rung& rung : cornerturn::ladder::rungs()) {
        const Matrix matrix{shape.rows, shape.cols, bytes};
        if (!cornerturn::ladder::why_not(rung, matrix)) list.push_back({&rung, matrix});
      }
    }
  }
  return list;
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

void predict() {
  Json out = Json::array();
  for (const Case& c : cases()) {
    const auto emulation = cornerturn::ladder::emulate(*c.rung, c.matrix);
    Json legs = Json::array();
    for (const Leg& leg : emulation.report.legs) legs.push_back(json_of(leg));
    out.push_back({{"rung", c.rung->name},
                   {"rows", c.matrix.rows},
                   {"cols", c.matrix.cols},
                   {"element_bytes", c.matrix.bytes},
                   {"legs", legs}});
  }
  std::puts(out.dump().c_str());
}

void launch() {
  for (const Case& c : cases()) {
    cornerturn::cuda::MeasureOptions options;
    options.time = false;
    cornerturn::cuda::LadderCase matrices(c.matrix.rows, c.matrix.cols, c.matrix.bytes, options);
    matrices.launch(c.rung->name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "predict") == 0) {
      predict();
      return 0;
    }
    if (argc == 2 && std::strcmp(argv[1], "launch") == 0) {
      launch();
      return 0;
    }
  } catch (const cornerturn::Error& error) {
    std::fprintf(stderr, "ladder_probe: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: ladder_probe predict | launch\n");
  return 2;
}
