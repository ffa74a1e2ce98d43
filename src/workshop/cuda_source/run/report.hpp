// The report: one JSON file, when the program ends.
#pragma once

namespace cornerturn::cuda_source {

/// Writes it where the configuration says, once. A program that was `ended` had no chance to free
/// its memory or to ask for errors.
void write_report(bool ended);
/// It is written when the program ends by exit or by main's end.
void report_at_exit();

}  // namespace cornerturn::cuda_source
