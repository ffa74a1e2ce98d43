#include "workshop/analyse/notation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cornerturn {
namespace {

TEST(Notation, ReadsAndWritesCutesNotation) {
  for (const char* text : {"(8,32):(32,1)", "8:1", "((2,4),(8,2)):((1,16),(2,64))", "(8):(1)",
                           "(1,(2,(3))):(0,(-1,(7)))"}) {
    EXPECT_EQ(to_string(parse_layout(text)), text);
    EXPECT_EQ(to_string(parse_swizzled_layout(text)), text);
  }
  for (const char* text : {"Swizzle<3,3,3> o (8,64):(64,1)", "Swizzle<2,4,-3> o 16 o (8,64):(64,1)",
                           "Swizzle<1,0,1> o 8:1"}) {
    EXPECT_EQ(to_string(parse_swizzled_layout(text)), text);
  }
  EXPECT_EQ(to_string(parse_swizzled_layout(" Sw<3,3,3>  o _0 o(_8,_64) : (_64,_1) ")),
            "Swizzle<3,3,3> o (8,64):(64,1)");
  EXPECT_EQ(to_string(parse_layout("(8,(2,4))")), "(8,(2,4)):(1,(8,16))");
  EXPECT_EQ(to_string(parse_swizzle("Swizzle<0,4,3>")), "Swizzle<0,4,3>");
}

TEST(Notation, WhatCutePrintsCanBePasted) {
  struct Case {
    const char* printed;
    const char* read;
    int element_bits;
  };
  const Case cases[] = {
      {"S<3,3,3> o 0 o (8,64):(64,1)", "Swizzle<3,3,3> o (8,64):(64,1)", 0},
      {"S<3,4,3> o 0 o ((8,8),(64,2)):((64,512),(1,4096))",
       "Swizzle<3,4,3> o ((8,8),(64,2)):((64,512),(1,4096))", 0},
      // Behind a pointer the swizzle counts bytes.
      {"Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", "Swizzle<3,3,3> o (8,64):(64,1)",
       16},
      {"Sw<2,4,3> o smem_ptr[32b](unset) o (_8,_16):(_16,_1)", "Swizzle<2,2,3> o (8,16):(16,1)",
       32},
      {"Sw<3,4,3>_smem_ptr[8b](0x7f8800000400) o\n\t(_8,_128):(_128,_1)",
       "Swizzle<3,4,3> o (8,128):(128,1)", 8},
      {"Sw<3,4,3>_smem_ptr[16b](0x7f8800000480) o (_8,_64):(_64,_1)",
       "Swizzle<3,3,3> o 64 o (8,64):(64,1)", 16},
      {"Sw<3,4,3>_smem_ptr[16b](SMEM_ADDR_A) o (_8,_64):(_64,_1)", "Swizzle<3,3,3> o (8,64):(64,1)",
       16},
      {"smem_ptr[16b](0x7f8800000400) o (_8,_64):(_64,_1)", "(8,64):(64,1)", 16},
      {"tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>",
       "Swizzle<3,3,3> o (8,64):(64,1)", 16},
      {"tensor<ptr<f8E4M3FN, smem, align<1024>, S<3,4,3>> o (8,128):(128,1)>",
       "Swizzle<3,4,3> o (8,128):(128,1)", 8},
      {"tensor<ptr<f16, smem, align<1024>> o S<3,3,3> o 0 o (8,64):(64,1)>",
       "Swizzle<3,3,3> o (8,64):(64,1)", 16},
      {"tensor<ptr<i64, smem, align<64>> o (16,4):(1,16)>", "(16,4):(1,16)", 64},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.printed);
    const PrintedLayout printed = parse_printed_layout(c.printed);
    EXPECT_EQ(to_string(printed.layout), c.read);
    EXPECT_EQ(printed.element_bits, c.element_bits);
  }
}

TEST(Notation, APrintedSwizzleMovesTheBytesThatItNames) {
  const SwizzledLayout read =
      parse_swizzled_layout("Sw<3,4,3>_smem_ptr[16b](0x7f8800000480) o (_8,_64):(_64,_1)");
  const AnySwizzle of_bytes = make_swizzle(3, 4, 3);
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 64; ++j) {
      const std::int64_t address = 0x80 + 2 * (64 * i + j);
      EXPECT_EQ(2 * read(i, j), of_bytes(address));
    }
  }
}

struct Mistake {
  const char* text;
  std::size_t position;
  const char* message;
};

TEST(Notation, MistakesPointAtTheCharacter) {
  const Mistake mistakes[] = {
      {"", 0, "layout \"\", character 1 (the end): an extent or '(' expected"},
      {"(8,32:(32,1)", 5, "layout \"(8,32:(32,1)\", character 6 (':'): ',' or ')' expected"},
      {"(8,32):(32,1", 12, "layout \"(8,32):(32,1\", character 13 (the end): ',' or ')' expected"},
      {"(8,x):(1,8)", 3, "layout \"(8,x):(1,8)\", character 4 ('x'): an extent or '(' expected"},
      {"(8,32):(32,1) 5", 14,
       "layout \"(8,32):(32,1) 5\", character 15 ('5'): nothing more expected"},
      {"(8,32):(32,1,2)", 7,
       "layout \"(8,32):(32,1,2)\", character 8 ('('): 3 strides for 2 extents"},
      {"(8,32):32", 7,
       "layout \"(8,32):32\", character 8 ('3'): a tuple of strides expected, as the extents are a "
       "tuple"},
      {"8:(1,2)", 2,
       "layout \"8:(1,2)\", character 3 ('('): a stride for one extent expected, this is a tuple"},
      {"(0,4):(1,1)", 1, "layout \"(0,4):(1,1)\", character 2 ('0'): an extent of 0 is no layout"},
      {"-4:1", 0, "layout \"-4:1\", character 1 ('-'): an extent or '(' expected"},
      {"99999999999:1", 0,
       "layout \"99999999999:1\", character 1 ('9'): the number is larger than 2147483647"},
      {"(65536,65536)", 7,
       "layout \"(65536,65536)\", character 8 ('6'): the layout has more than 2^24 elements"},
      {"Swizzle<3,0,2> o 8:1", 0,
       "layout \"Swizzle<3,0,2> o 8:1\", character 1 ('S'): Swizzle<3,0,2>: |S| = 2 is less than B "
       "= "
       "3, so the bits that change and the bits they are xor-ed with would overlap"},
      {"Swizzle<3,3> o 8:1", 11, "layout \"Swizzle<3,3> o 8:1\", character 12 ('>'): ',' expected"},
      {"Swizzle<3,3,3>", 14,
       "layout \"Swizzle<3,3,3>\", character 15 (the end): ' o ' and a layout expected after the "
       "swizzle"},
      {"Swizzle<3,3,3> (8):(1)", 15,
       "layout \"Swizzle<3,3,3> (8):(1)\", character 16 ('('): ' o ' and a layout expected after "
       "the "
       "swizzle"},
  };
  const Mistake of_pointers[] = {
      {"Sw<3,4,3> o smem_ptr[16](unset) o 8:1", 23,
       "layout \"Sw<3,4,3> o smem_ptr[16](unset) o 8:1\", character 24 (']'): 'b](' expected"},
      {"Sw<3,4,3> o smem_ptr[4b](unset) o 8:1", 12,
       "layout \"Sw<3,4,3> o smem_ptr[4b](unset) o 8:1\", character 13 ('s'): elements of 4 bits: "
       "they have 8, 16, 32, 64 or 128"},
      {"Sw<3,0,3>_smem_ptr[16b](unset) o 8:1", 0,
       "layout \"Sw<3,0,3>_smem_ptr[16b](unset) o 8:1\", character 1 ('S'): the swizzle counts "
       "bytes, and would part those of one element"},
      {"tensor<ptr<f16, smem o 8:1>", 27,
       "layout \"tensor<ptr<f16, smem o 8:1>\", character 28 (the end): ' o ' and a layout "
       "expected "
       "after the swizzle"},
      {"tensor<ptr<f16> o 8:1", 21,
       "layout \"tensor<ptr<f16> o 8:1\", character 22 (the end): '>' expected"},
  };
  std::vector<Mistake> all(std::begin(mistakes), std::end(mistakes));
  all.insert(all.end(), std::begin(of_pointers), std::end(of_pointers));
  for (const Mistake& mistake : all) {
    try {
      parse_swizzled_layout(mistake.text);
      ADD_FAILURE() << mistake.text;
    } catch (const NotationError& error) {
      EXPECT_STREQ(error.what(), mistake.message);
      EXPECT_EQ(error.position(), mistake.position);
      EXPECT_EQ(error.status(), Status::invalid_argument);
    }
  }
}

TEST(Notation, ThePictureHasACaret) {
  try {
    parse_layout("(8,x):(1,8)");
    FAIL();
  } catch (const NotationError& error) {
    EXPECT_EQ(error.picture(), "(8,x):(1,8)\n   ^");
  }
}

TEST(Notation, LimitsAreErrors) {
  std::string wide = "(1";
  for (int i = 0; i < 32; ++i) wide += ",1";
  EXPECT_THROW(parse_layout(wide + ")"), NotationError);
  EXPECT_THROW(parse_layout(std::string(40, '(') + "1" + std::string(40, ')')), NotationError);
}

}  // namespace
}  // namespace cornerturn
