// What `cornerturn ladder` says: every rung's verdict, figures and reasons, as text, JSON and a
// picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workshop/cuda/ladder.hpp"
#include "workshop/ladder/diagnosis.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::ladder {

struct ReportRow {
  std::string name;
  std::string shows;
  Family family = Family::kernel_form;
  std::string after;    ///< the rung it is compared with
  std::string why_not;  ///< not empty: it does not apply, and nothing below is set
  std::optional<Prediction> predicted;
  std::optional<std::vector<std::string>> emulated;  ///< what was wrong in the emulator
  std::optional<Outlook> outlook;                    ///< none of a wrong result
  std::string otherwise;  ///< difference() from the rung it is compared with
  std::optional<cuda::Measurement> measured;
};

struct Report {
  Matrix matrix;
  std::string dtype;
  std::optional<cuda::DeviceInfo> device;  ///< the GPU that ran it; else the emulator did
  std::string why_no_gpu;
  std::string why_no_cute;  ///< why rungs are missing
  std::vector<ReportRow> rows;

  /// Every rung that applies gave the right result.
  bool verified() const;
  /// One line for each thing that is wrong with a result.
  std::vector<std::string> complaints() const;
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_json(const Prediction& predicted, const std::optional<Outlook>& outlook);
/// What limits a kernel, what its speed should be, and what other ways would be worth.
std::string to_json(const Outlook& outlook);
/// One bar a rung: bytes a second where they were measured, else what each needs of the memories.
std::string to_svg(const Report& report);

}  // namespace cornerturn::ladder
