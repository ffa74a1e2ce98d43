// How a plan's kernel was chosen.
#pragma once

namespace cornerturn::plan {

enum class Choice { estimated, forced, measured, remembered, raced, learned };

}  // namespace cornerturn::plan
