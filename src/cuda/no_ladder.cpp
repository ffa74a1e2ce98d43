// A build without device code has no ladder on a GPU.
#include "cornerturn/error.hpp"
#include "cuda/ladder.hpp"

namespace cornerturn::cuda {

namespace {

[[noreturn]] void refuse() {
  throw Error(Status::unsupported, "no GPU: " + *why_no_gpu());
}

}  // namespace

struct LadderCase::Impl {};

LadderCase::LadderCase(std::int64_t, std::int64_t, int, const MeasureOptions&) {
  refuse();
}
LadderCase::~LadderCase() = default;
LadderCase::LadderCase(LadderCase&&) noexcept = default;
LadderCase& LadderCase::operator=(LadderCase&&) noexcept = default;

Measurement LadderCase::measure(std::string_view) {
  refuse();
}
std::string LadderCase::launch(std::string_view) {
  refuse();
}

}  // namespace cornerturn::cuda
