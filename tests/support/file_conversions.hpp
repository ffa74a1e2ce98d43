// Arrays as files hold them whose values change on their way, and what becomes of them.
#pragma once

#include <string>

#include "io/file_conversion.hpp"
#include "support/byte_order.hpp"
#include "support/random_array.hpp"

namespace cornerturn::io::test {

/// An array of random bits, a permutation of it and a conversion.
struct ConvertedArray {
  Problem problem;
  Bytes source;
  FileConversion conversion;
  Bytes expected;
  std::string text;

  ConvertedArray(std::mt19937& random, std::int64_t most_elements) {
    constexpr Kind kinds[] = {Kind::u8,  Kind::i16, Kind::f16, Kind::bf16,   Kind::f32,
                              Kind::f64, Kind::i64, Kind::i8,  Kind::f8_e4m3};
    const ElementType native_from(kinds[random() % std::size(kinds)]);
    const ElementType native_to(kinds[random() % std::size(kinds)]);
    const ElementType from = random() % 4 == 0 ? native_from.swapped() : native_from;
    const ElementType to = random() % 4 == 0 ? native_to.swapped() : native_to;
    Epilogue epilogue;
    const float bias = 2.5F;
    if (random() % 2 == 0) epilogue.alpha = 0.37;
    if (random() % 3 == 0) epilogue.bias = &bias;
    if (random() % 3 == 0) epilogue.overflow = Overflow::saturate;
    if (random() % 3 == 0) {
      epilogue.rounding = Rounding::stochastic;
      epilogue.seed = random();
    }
    text = from.name() + " to " + to.name();
    conversion = FileConversion(from, to, epilogue);

    Extents shape;
    std::int64_t elements = 1;
    for (auto rank = 1 + random() % 4; rank > 0; --rank) {
      const auto room =
          static_cast<std::uint32_t>(std::min<std::int64_t>(most_elements / elements, 90));
      shape.push_back(1 + random() % std::max(room, 1U));
      elements *= shape.back();
    }
    std::vector<int> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    problem = file_problem(shape, from.size(), random() % 2 == 0, permutation);
    source.resize(static_cast<std::size_t>(elements * from.size()));
    for (std::byte& byte : source) byte = static_cast<std::byte>(random());

    const Bytes turned = reference(problem, source);
    if (!conversion.converts()) {
      expected = turned;
      return;
    }
    expected.resize(static_cast<std::size_t>(elements * to.size()));
    // By the conversion between native types, where the two differ in more than their order.
    const FileConversion plain(native_from, native_to, epilogue);
    for (std::int64_t i = 0; i < elements; ++i) {
      std::byte element[16];
      std::memcpy(element, turned.data() + i * from.size(), static_cast<std::size_t>(from.size()));
      cornerturn::test::turn_bytes(from, element);
      std::byte* const out = expected.data() + i * to.size();
      if (plain.converts()) {
        plain.run_singly(element, i * from.size(), out);
      } else {
        std::memcpy(out, element, static_cast<std::size_t>(to.size()));
      }
      cornerturn::test::turn_bytes(to, out);
    }
  }
};

}  // namespace cornerturn::io::test
