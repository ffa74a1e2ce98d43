#include <fmt/format.h>

#include "cornerturn/error.hpp"
#include "workshop/lab/rung_access.hpp"

namespace cornerturn::lab {

std::vector<Access> rung_accesses(std::string_view rung, const TileShape&) {
  throw Error(Status::unsupported,
              fmt::format("access 'rung:{}': this build knows no rungs: Boost.Context was not here "
                          "(libboost-context-dev) when it was made",
                          rung));
}

}  // namespace cornerturn::lab
