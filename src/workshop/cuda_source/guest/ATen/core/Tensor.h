// A stand-in for PyTorch's header of this name.
#pragma once

#include <cornerturn_guest_torch.hpp>
