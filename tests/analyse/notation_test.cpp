#include "workshop/analyse/notation.hpp"

#include <gtest/gtest.h>

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
  for (const Mistake& mistake : mistakes) {
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
