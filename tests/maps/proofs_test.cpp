// The proofs: what the ladder and the mission's text claim, rank against enumeration, and the text
// of a failure.
#include "maps/proofs.hpp"

#include <gtest/gtest.h>

namespace cornerturn {
namespace {

// Vectorised on all four legs: a V x V block a lane.
static_assert(conflict_free<float, ChunkXor<64, 64, 4>, Access::rows, 16>);
static_assert(conflict_free<float, ChunkXor<64, 64, 4>, Access::columns, 16>);
static_assert(conflict_free<std::uint16_t, ChunkXor<64, 64, 8>, Access::columns, 16>);
static_assert(conflict_free<std::uint8_t, ChunkXor<128, 128, 16>, Access::columns, 16>);
static_assert(conflict_free<double, ChunkXor<32, 32, 2>, Access::columns, 16>);
// The design rule that is right for consecutive rows fails for V x V blocks; S = log2(row) is
// right.
static_assert(!conflict_free<float, SwizzledRows<Swizzle<3, 2, 3>, 32, 32>, Access::columns, 16>);
static_assert(conflict_free<float, SwizzledRows<Swizzle<3, 2, 5>, 32, 32>, Access::columns, 16>);
static_assert(
    conflict_free<std::uint16_t, SwizzledRows<Swizzle<3, 3, 6>, 64, 64>, Access::columns, 16>);
static_assert(
    conflict_free<std::uint8_t, SwizzledRows<Swizzle<3, 4, 7>, 128, 128>, Access::columns, 16>);
static_assert(conflict_free<double, SwizzledRows<Swizzle<3, 1, 4>, 16, 16>, Access::columns, 16>);
// 64 x 64 floats, scalar columns: <5,0,5> is two-way, <5,0,6> is clean.
static_assert(!conflict_free<float, SwizzledRows<Swizzle<5, 0, 5>, 64, 64>, Access::columns>);
static_assert(conflict_free<float, SwizzledRows<Swizzle<5, 0, 6>, 64, 64>, Access::columns>);
// Padding and rotation serve scalar columns; padding cannot serve 16-byte blocks, a diagonal can.
static_assert(!conflict_free<float, RowMajor<32, 32>, Access::columns>);
static_assert(conflict_free<float, Padded<32, 32, 1>, Access::columns>);
static_assert(conflict_free<float, Rotated<32, 32>, Access::columns>);
static_assert(!conflict_free<float, Padded<32, 32, 4>, Access::columns, 16>);
static_assert(!is_aligned<float, Padded<32, 32, 1>, Access::columns, 16>());
static_assert(conflict_free<float, RowMajor<32, 32>, Access::diagonal, 16>);
static_assert(conflict_free<float, Padded<32, 32, 4>, Access::diagonal, 16>);
static_assert(conflict_free<float, SwizzledRows<Swizzle<3, 2, 3>, 32, 32>, Access::diagonal, 16>);

static_assert(
    std::same_as<bank_conflict<float, RowMajor<32, 32>, Access::columns>,
                 BankConflict<Request<0>, LaneA<0>, LaneB<1>, Bank<0>, WordA<0>, WordB<32>>>);
static_assert(proven_conflict_free<float, ChunkXor<32, 32, 1>, Access::columns>());

template <class T, class Map, Access A, int VectorBytes>
void expect_agreement(int& clean, int& conflicting) {
  const bool by_rank = conflict_free_by_rank<T, Map, A, VectorBytes>();
  EXPECT_EQ(by_rank, (conflict_free_by_enumeration<T, Map, A, VectorBytes>()))
      << testing::PrintToString(A == Access::rows) << " " << VectorBytes << " of " << sizeof(T);
  ++(by_rank ? clean : conflicting);
}

template <class T, int Vector, Access A, class... Maps>
void expect_agreement_on(int& clean, int& conflicting) {
  (expect_agreement<T, Maps, A, Vector>(clean, conflicting), ...);
}

template <class T, int Vector, Access A>
void expect_agreement_everywhere(int& clean, int& conflicting) {
  expect_agreement_on<
      T, Vector, A, RowMajor<32, 64>, ChunkXor<32, 64, 1>, ChunkXor<64, 32, 4>,
      ChunkXor<32, 32, 8, 1>, ChunkXor<16, 64, 4, 2>, SwizzledRows<Swizzle<5, 0, 5>, 32, 32>,
      SwizzledRows<Swizzle<3, 2, 3>, 32, 32>, SwizzledRows<Swizzle<3, 3, -4>, 16, 64>,
      Swizzled<Swizzle<2, 4, 5>, column_major(32, 32)>>(clean, conflicting);
}

TEST(Proofs, RankAndEnumerationAgree) {
  int clean = 0;
  int conflicting = 0;
  expect_agreement_everywhere<float, 4, Access::rows>(clean, conflicting);
  expect_agreement_everywhere<float, 4, Access::columns>(clean, conflicting);
  expect_agreement_everywhere<float, 16, Access::rows>(clean, conflicting);
  expect_agreement_everywhere<float, 16, Access::columns>(clean, conflicting);
  expect_agreement_everywhere<std::uint16_t, 2, Access::columns>(clean, conflicting);
  expect_agreement_everywhere<std::uint16_t, 8, Access::columns>(clean, conflicting);
  expect_agreement_everywhere<double, 8, Access::columns>(clean, conflicting);
  expect_agreement_everywhere<double, 16, Access::columns>(clean, conflicting);
  EXPECT_GE(clean, 15);
  EXPECT_GE(conflicting, 15);
}

}  // namespace
}  // namespace cornerturn
