// passes: has no kernel of its own. The plans that it consists of have them.
#pragma once

namespace cornerturn::kernels {

struct PassesArgs {};

template <class Visit>
void dispatch(const PassesArgs&, const Visit&) {}

}  // namespace cornerturn::kernels
