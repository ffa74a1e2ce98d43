// Layouts and what reading them costs: against the proofs, which know nothing of this report.
#include "workshop/analyse/layout_report.hpp"

#include <gtest/gtest.h>

#include "cornerturn/error.hpp"
#include "maps/proofs.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn {
namespace {

LayoutReport report(const char* layout, int bytes) {
  return report_layout(parse_swizzled_layout(layout), bytes);
}

const LayoutAccess& find(const LayoutReport& report, LayoutWalk walk, int width) {
  for (const LayoutAccess& access : report.accesses) {
    if (access.walk == walk && access.width == width) return access;
  }
  throw std::out_of_range("no such access");
}

template <class T, class Map, int Width>
void agrees(const char* layout) {
  const LayoutReport r = report(layout, sizeof(T));
  EXPECT_EQ(find(r, LayoutWalk::rows, Width).worst.clean(),
            (conflict_free<T, Map, Access::rows, Width>))
      << layout;
  const LayoutWalk down = Width == sizeof(T) ? LayoutWalk::columns : LayoutWalk::blocks;
  EXPECT_EQ(find(r, down, Width).worst.clean(), (conflict_free<T, Map, Access::columns, Width>))
      << layout;
}

TEST(LayoutReport, AgreesWithTheProofs) {
  agrees<float, RowMajor<32, 32>, 4>("(32,32):(32,1)");
  agrees<float, Padded<32, 32, 1>, 4>("(32,32):(33,1)");
  agrees<float, SwizzledRows<Swizzle<5, 0, 5>, 32, 32>, 4>("Swizzle<5,0,5> o (32,32):(32,1)");
  agrees<float, SwizzledRows<Swizzle<5, 0, 5>, 64, 64>, 4>("Swizzle<5,0,5> o (64,64):(64,1)");
  agrees<float, SwizzledRows<Swizzle<5, 0, 6>, 64, 64>, 4>("Swizzle<5,0,6> o (64,64):(64,1)");
  agrees<float, RowMajor<64, 64>, 16>("(64,64):(64,1)");
  agrees<float, SwizzledRows<Swizzle<3, 2, 6>, 64, 64>, 16>("Swizzle<3,2,6> o (64,64):(64,1)");
}

TEST(LayoutReport, CountsAllRequests) {
  const LayoutReport r = report("(32,32):(32,1)", 4);
  const LayoutAccess& columns = find(r, LayoutWalk::columns, 4);
  EXPECT_EQ(columns.requests, 32);
  EXPECT_EQ(columns.wavefronts, 32 * 32);
  EXPECT_EQ(columns.worst.collision, (Collision{0, 1, 0, 0, 32}));
}

TEST(LayoutReport, SaysWhichWidthsDoNotFit) {
  const LayoutReport padded = report("(4,4):(5,1)", 4);
  EXPECT_EQ(find(padded, LayoutWalk::rows, 8).why_not, "(1,0) lies at byte 20, no multiple of 8");
  const LayoutReport turned = report("(4,4):(1,4)", 4);
  EXPECT_EQ(find(turned, LayoutWalk::rows, 8).why_not,
            "(0,0) lies at 0, (0,1) at 4: they are no neighbours");
  const LayoutReport odd = report("(3,3):(4,1)", 4);
  EXPECT_EQ(find(odd, LayoutWalk::rows, 8).why_not,
            "3 x 3 elements are no whole number of accesses");
  EXPECT_EQ(find(odd, LayoutWalk::rows, 4).why_not, "");
}

TEST(LayoutReport, RefusesOrSkipsWhatIsNoTile) {
  EXPECT_THROW(report("(2,2,2):(1,2,4)", 4), Error);
  EXPECT_THROW(report("(2,2):(1,2)", 3), Error);
  EXPECT_EQ(report("(4096,4096):(4096,1)", 4).why_no_access,
            "67108864 B are more than the 232448 B of shared memory of a block");
  EXPECT_EQ(report("(4,4):(4,-1)", 4).why_no_access, "some offsets are negative");
  EXPECT_EQ(report("32:1", 4).rows, 1);
  EXPECT_EQ(find(report("32:2", 4), LayoutWalk::rows, 4).worst.wavefronts, 2);
}

}  // namespace
}  // namespace cornerturn
