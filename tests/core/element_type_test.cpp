#include <gtest/gtest.h>

#include <bit>
#include <complex>

#include "cornerturn/element_type.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

TEST(ElementType, NamesAndSizesOfNamedTypes) {
  const std::pair<const char*, int> expected[] = {
      {"bool", 1}, {"i8", 1},  {"i16", 2},   {"i32", 4},     {"i64", 8},     {"u8", 1},
      {"u16", 2},  {"u32", 4}, {"u64", 8},   {"f16", 2},     {"bf16", 2},    {"f32", 4},
      {"f64", 8},  {"c64", 8}, {"c128", 16}, {"f8_e4m3", 1}, {"f8_e5m2", 1}, {"b12", 12}};
  for (const auto& [name, size] : expected) {
    const ElementType type = ElementType::parse(name);
    EXPECT_EQ(type.size(), size) << name;
    EXPECT_EQ(type.name(), name);
  }
}

TEST(ElementType, UnderstandsNumpysWords) {
  EXPECT_EQ(ElementType::parse("float32"), ElementType(Kind::f32));
  EXPECT_EQ(ElementType::parse("complex128"), ElementType(Kind::c128));
  EXPECT_EQ(ElementType::parse("uint16"), ElementType(Kind::u16));
  EXPECT_EQ(ElementType::parse("bfloat16"), ElementType(Kind::bf16));
}

TEST(ElementType, HasItsBytesInEitherOrder) {
  const bool little = std::endian::native == std::endian::little;
  const std::string own = little ? "<" : ">", other = little ? ">" : "<";
  const std::pair<Kind, const char*> codes[] = {
      {Kind::i16, "i2"}, {Kind::i32, "i4"}, {Kind::i64, "i8"}, {Kind::u16, "u2"},
      {Kind::u32, "u4"}, {Kind::u64, "u8"}, {Kind::f16, "f2"}, {Kind::bf16, "bf16"},
      {Kind::f32, "f4"}, {Kind::f64, "f8"}, {Kind::c64, "c8"}, {Kind::c128, "c16"}};
  for (const auto& [kind, code] : codes) {
    const ElementType native(kind);
    const ElementType swapped = native.swapped();
    EXPECT_EQ(ElementType::parse(own + code), native);
    EXPECT_EQ(ElementType::parse(other + code), swapped);
    EXPECT_EQ(swapped.name(), other + code);
    EXPECT_NE(swapped, native);
    EXPECT_TRUE(swapped.is_swapped() && !native.is_swapped());
    EXPECT_EQ(swapped.swapped(), native);
    EXPECT_EQ(swapped.kind(), kind);
    EXPECT_EQ(swapped.size(), native.size());
  }
  for (const char* code : {"i1", "u1", "b1"}) {
    EXPECT_EQ(ElementType::parse(other + code), ElementType::parse(own + code));
  }
  EXPECT_EQ(ElementType(Kind::f8_e4m3).swapped(), ElementType(Kind::f8_e4m3));
  EXPECT_EQ(ElementType::bytes(4).swapped(), ElementType::bytes(4));
  for (const char* wrong : {">", ">f16", ">f32", ">b4", "<V4", "=f4", "|u1", ">M8[s]", "><f4"}) {
    EXPECT_THROW(ElementType::parse(wrong), Error) << wrong;
  }
}

TEST(ElementType, FollowsFromACppType) {
  struct Pixel {
    unsigned char r, g, b;
  };
  EXPECT_EQ(ElementType::of<float>(), ElementType(Kind::f32));
  EXPECT_EQ(ElementType::of<std::int16_t>(), ElementType(Kind::i16));
  EXPECT_EQ(ElementType::of<unsigned long>().size(), 8);
  EXPECT_EQ(ElementType::of<bool>(), ElementType(Kind::boolean));
  EXPECT_EQ(ElementType::of<std::complex<double>>(), ElementType(Kind::c128));
  EXPECT_EQ(ElementType::of<Pixel>(), ElementType::bytes(3));
}

TEST(ElementType, EverySizeFrom1To256) {
  for (int size = 1; size <= 256; ++size) EXPECT_EQ(ElementType::bytes(size).size(), size);
}

std::string message_of(void (*call)()) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    return error.what();
  }
  return "no error";
}

TEST(ElementType, RefusesWhatItIsNot) {
  EXPECT_EQ(message_of([] { ElementType::bytes(0); }),
            "element size = 0 is out of range: 1 to 256 bytes");
  EXPECT_EQ(message_of([] { ElementType::bytes(257); }),
            "element size = 257 is out of range: 1 to 256 bytes");
  for (const char* name : {"", "b", "b0", "b257", "b4x", "b-1", "float", "f31", "F32"}) {
    EXPECT_THROW(ElementType::parse(name), Error) << name;
  }
  EXPECT_NE(message_of([] { ElementType::parse("floaty"); }).find("'floaty' is unknown"),
            std::string::npos);
  EXPECT_THROW(ElementType{Kind::bytes}, Error);
}

}  // namespace
}  // namespace cornerturn
