// How a plan's kernel was chosen.
#pragma once

namespace cornerturn::plan {

enum class Choice { estimated, forced, measured, remembered, learned };

}  // namespace cornerturn::plan
