// Must not compile; the message must name the lanes, the bank and the words.
#include "maps/proofs.hpp"

using namespace cornerturn;

// Rows of 64 two-byte elements without a swizzle: lanes that are 8 rows apart meet.
#ifdef AS_FUNCTION
static_assert(proven_conflict_free<std::uint16_t, RowMajor<64, 64>, Access::columns, 16>());
#else
static_assert(conflict_free<std::uint16_t, RowMajor<64, 64>, Access::columns, 16>);
#endif
