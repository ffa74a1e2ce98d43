// passes and repeat: have no kernels of their own. The plans that they consist of have them.
#pragma once

namespace cornerturn::kernels {

struct PassesArgs {};

template <class Visit>
void dispatch(const PassesArgs&, const Visit&) {}

}  // namespace cornerturn::kernels
