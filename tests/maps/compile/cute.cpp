// Our maps against CuTe's own templates: every small swizzle, random layouts, and the algebra on
// the static layouts that test_cute.py writes into cases.inc. Prints what differs; exits with how
// much.
#include <cstdint>
#include <cstdio>
#include <cute/layout.hpp>
#include <cute/swizzle_layout.hpp>

#include "workshop/analyse/notation.hpp"

namespace ct = cornerturn;

namespace {

int compared = 0;
int different = 0;

void expect(bool equal, const char* what, const char* a, const char* b) {
  ++compared;
  if (equal) return;
  ++different;
  std::printf("%s differs: %s, %s\n", what, a, b);
}

template <int B, int M, int S>
void compare_swizzle() {
  bool equal = true;
  for (int x = 0; x < 1 << 14; ++x) {
    equal = equal && cute::Swizzle<B, M, S>{}(x) == ct::Swizzle<B, M, S>{}(x) &&
            ct::make_swizzle(B, M, S)(x) == ct::Swizzle<B, M, S>{}(x);
  }
  expect(equal, "swizzle", ct::to_string(ct::AnySwizzle{B, M, S}).c_str(), "");
}

// Under a layout, with a transposed view in front.
template <int B, int M, int S>
void compare_swizzled_layout() {
  const auto theirs = cute::composition(
      cute::composition(
          cute::Swizzle<B, M, S>{},
          cute::Layout<cute::Shape<cute::_16, cute::_32>, cute::Stride<cute::_32, cute::_1>>{}),
      cute::Layout<cute::Shape<cute::_32, cute::_16>, cute::Stride<cute::_16, cute::_1>>{});
  const ct::SwizzledLayout ours = ct::composition(
      ct::composition(ct::AnySwizzle{B, M, S}, ct::row_major(16, 32)), ct::row_major(32, 16));
  bool equal = cute::size(theirs) == ours.size();
  for (int i = 0; i < 512; ++i) equal = equal && theirs(i) == ours(i);
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 16; ++j) equal = equal && theirs(i, j) == ours(i, j);
  }
  expect(equal, "swizzled layout", ct::to_string(ours).c_str(), "");
}

template <int B, int M, int... D>
void compare_shifts(std::integer_sequence<int, D...>) {
  (compare_swizzle<B, M, B + D>(), ...);
  (compare_swizzle<B, M, -B - D>(), ...);
}
template <int B, int... M>
void compare_bases(std::integer_sequence<int, M...>) {
  (compare_shifts<B, M>(std::make_integer_sequence<int, 4>()), ...);
}
template <int... B>
void compare_swizzles(std::integer_sequence<int, B...>) {
  (compare_bases<B>(std::make_integer_sequence<int, 5>()), ...);
}

std::uint64_t state = 7;
int below(int bound) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(bound));
}

template <class Theirs>
void compare(const char* what, const Theirs& theirs, const ct::Layout& ours, const char* a,
             const char* b) {
  bool equal = static_cast<std::int64_t>(cute::size(theirs)) == ours.size();
  for (int i = 0; equal && i < ours.size(); ++i) {
    equal = static_cast<std::int64_t>(theirs(i)) == ours(i);
  }
  expect(equal, what, a, b);
}

void compare_random_layouts() {
  using cute::make_shape;
  for (int n = 0; n < 1000; ++n) {
    const int e[4] = {1 + below(8), 1 + below(8), 1 + below(8), 1 + below(8)};
    const int s[4] = {below(65), below(65), below(65), below(65)};
    const ct::Layout leaf[4] = {ct::make_leaf(e[0], s[0]), ct::make_leaf(e[1], s[1]),
                                ct::make_leaf(e[2], s[2]), ct::make_leaf(e[3], s[3])};
    const auto flat = cute::make_layout(make_shape(e[0], e[1]), make_shape(s[0], s[1]));
    const ct::Layout ours_flat = ct::make_layout({leaf[0], leaf[1]});
    compare("layout", flat, ours_flat, ct::to_string(ours_flat).c_str(), "");
    const auto nested =
        cute::make_layout(make_shape(make_shape(e[0], e[1]), make_shape(e[2], e[3])),
                          make_shape(make_shape(s[0], s[1]), make_shape(s[2], s[3])));
    const ct::Layout ours =
        ct::make_layout({ct::make_layout({leaf[0], leaf[1]}), ct::make_layout({leaf[2], leaf[3]})});
    compare("layout", nested, ours, ct::to_string(ours).c_str(), "");
    bool equal = cute::cosize(nested) == ours.cosize();
    for (int i = 0; i < e[0] * e[1]; ++i) {
      for (int j = 0; j < e[2] * e[3]; ++j) equal = equal && nested(i, j) == ours(i, j);
    }
    expect(equal, "coordinates", ct::to_string(ours).c_str(), "");
    const auto deep = cute::make_layout(make_shape(e[0], make_shape(e[1], make_shape(e[2], e[3]))),
                                        make_shape(s[0], make_shape(s[1], make_shape(s[2], s[3]))));
    const ct::Layout ours_deep =
        ct::make_layout({leaf[0], ct::make_layout({leaf[1], ct::make_layout({leaf[2], leaf[3]})})});
    compare("layout", deep, ours_deep, ct::to_string(ours_deep).c_str(), "");
  }
}

#define UNARY(OPERATION, A, TEXT_A) \
  compare(#OPERATION, cute::OPERATION(A{}), ct::OPERATION(ct::parse_layout(TEXT_A)), TEXT_A, "");
#define BINARY(OPERATION, A, B, TEXT_A, TEXT_B)  \
  compare(#OPERATION, cute::OPERATION(A{}, B{}), \
          ct::OPERATION(ct::parse_layout(TEXT_A), ct::parse_layout(TEXT_B)), TEXT_A, TEXT_B);

#include "cases.inc"

}  // namespace

int main() {
  compare_swizzles(std::make_integer_sequence<int, 5>());
  compare_swizzled_layout<3, 0, 3>();
  compare_swizzled_layout<2, 2, -3>();
  compare_random_layouts();
  compare_cases();
  std::printf("%d compared, %d different\n", compared, different);
  return different == 0 ? 0 : 1;
}
