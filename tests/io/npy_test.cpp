#include "io/npy.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "cornerturn/error.hpp"
#include "io/npy_dtype.hpp"
#include "io/python_literal.hpp"

namespace cornerturn::io {
namespace {

std::string file_start(int version, const std::string& text) {
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return bytes + text;
}

std::string message_of(const std::string& bytes) {
  try {
    parse_npy_header(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NpyHeader, SaysWhatNumpyWrote) {
  for (const int version : {1, 2, 3}) {
    const NpyHeader header = parse_npy_header(
        file_start(version, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }      \n"));
    EXPECT_EQ(header, (NpyHeader{version, "'<f4'", 4, true, {3, 4}}));
  }
}

TEST(NpyHeader, TakesAnyOrderOfKeysAndPython2Numbers) {
  const NpyHeader header =
      parse_npy_header(file_start(1, "{\"shape\": (3L,), 'fortran_order': False,'descr':'|V3'}\n"));
  EXPECT_EQ(header, (NpyHeader{1, "'|V3'", 3, false, {3}}));
  const NpyHeader lines = parse_npy_header(
      file_start(1, "{\n'shape':\t(3,),\r\n'fortran_order': False, 'descr':'|V3'\n}\n"));
  EXPECT_EQ(lines, header);
}

TEST(NpyHeader, FormatsAsNumpyDoes) {
  const std::string bytes = format_npy_header({1, "'<f8'", 8, false, {2, 3}});
  EXPECT_EQ(bytes.size(), 128U);
  const std::string start = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  ";
  EXPECT_EQ(bytes.substr(0, start.size()), start);
  EXPECT_EQ(bytes.back(), '\n');
}

TEST(NpyHeader, SurvivesARoundTripOfRandomHeaders) {
  std::mt19937 random(7);
  const std::vector<std::string> dtypes = {"'<f4'",
                                           "'>c16'",
                                           "'|S7'",
                                           "'<U3'",
                                           "'<M8[25s]'",
                                           "[('a', '<i2'), ('b', '|V6', (2, 3))]",
                                           "[(('title', 'name'), [('x', '<f8'), ('', '|V4')])]"};
  for (int i = 0; i < 2000; ++i) {
    NpyHeader header;
    header.version = 1 + static_cast<int>(random() % 3);
    header.descr = dtypes[random() % dtypes.size()];
    header.item_size = dtype_size(header.descr);
    header.fortran_order = random() % 2 == 0;
    for (auto k = random() % 6; k > 0; --k) {
      header.shape.push_back(static_cast<std::int64_t>(random() % 1000 >> random() % 10));
    }
    const std::string bytes = format_npy_header(header);
    EXPECT_EQ(bytes.size() % 64, 0U);
    EXPECT_EQ(npy_data_offset(bytes.substr(0, npy_preamble_size)),
              static_cast<std::int64_t>(bytes.size()));
    EXPECT_EQ(parse_npy_header(bytes), header);
  }
}

TEST(NpyHeader, TakesVersion2WhenItIsLong) {
  std::string descr = "[";
  for (int i = 0; i < 5000; ++i) descr += "('field" + std::to_string(i) + "', '<f4'), ";
  descr += "]";
  const std::string bytes = format_npy_header({1, descr, 20000, false, {2}});
  const NpyHeader header = parse_npy_header(bytes);
  EXPECT_EQ(header.version, 2);
  EXPECT_EQ(header.descr, descr);
  EXPECT_EQ(header.item_size, 20000);
}

TEST(NpyHeader, RefusesCorruptFiles) {
  EXPECT_NE(message_of("").find("not a .npy file"), std::string::npos);
  EXPECT_NE(message_of("PK\3\4 something else").find("not a .npy file"), std::string::npos);
  EXPECT_NE(message_of("\x93NUMPY").find("truncated"), std::string::npos);
  EXPECT_NE(message_of(file_start(4, "{}")).find("version 4.0"), std::string::npos);
  EXPECT_NE(message_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)).find("4294967295"),
            std::string::npos);
  const std::string whole =
      file_start(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(message_of(whole.substr(0, length)), "") << length;
  }
  EXPECT_EQ(message_of(whole), "");
}

TEST(NpyHeader, RefusesWhatItCannotUnderstand) {
  struct Case {
    const char* text;
    const char* part;
  };
  for (const auto& [text, part] : {
           Case{"{'descr': '<f4', 'fortran_order': False}", "no key 'shape'"},
           Case{"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "neither True nor False"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", "not a tuple"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "shape[0] = -3"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 'a')}", "shape[1] = 'a'"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "'x'"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (), '': 1}", "''"},
           Case{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "'descr'"},
           Case{"{'descr': '|O', 'fortran_order': False, 'shape': ()}", "Python objects"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                "64 bits"},
           Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                "64 bits"},
           Case{"[1, 2]", "not a dictionary"},
           Case{"{'descr': '<f4", "does not end"},
           Case{"{} {}", "only one literal"},
       }) {
    EXPECT_NE(message_of(file_start(1, text)).find(part), std::string::npos)
        << text << " -> " << message_of(file_start(1, text));
  }
  EXPECT_NE(message_of(file_start(1, std::string(100, '['))).find("32 levels"), std::string::npos);
}

TEST(NpyHeader, AllowsEmptyArraysOfAnyShape) {
  const NpyHeader header = parse_npy_header(file_start(
      1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4611686018427387904, 9), }\n"));
  EXPECT_EQ(array_bytes(header.shape, header.item_size), 0);
}

TEST(Dtype, HasTheSizeThatNumpyGivesIt) {
  struct Case {
    const char* descr;
    std::int64_t size;
  };
  for (const auto& [descr, size] :
       {Case{"<f4", 4}, Case{"'>f8'", 8}, Case{"|b1", 1}, Case{"?", 1}, Case{"<f16", 16},
        Case{"<f10", 10}, Case{"<f12", 12}, Case{"<c32", 32}, Case{"|S0", 0}, Case{"|S12", 12},
        Case{"<U5", 20}, Case{"<m8", 8}, Case{"<M8[ns]", 8}, Case{"<m8[7D]", 8}, Case{"|V300", 300},
        Case{"[('a', '<f4'), ('b', '<i2', (3, 2)), ('c', '|S5', 2)]", 26},
        Case{"[('a', [('x', '<f8'), ('y', '|u1')]), ('', '|V7')]", 16}, Case{"('<f4', (2, 3))", 24},
        Case{"[]", 0}}) {
    EXPECT_EQ(dtype_size(std::string_view(descr)), size) << descr;
  }
}

TEST(Dtype, RefusesObjectsAndNonsense) {
  for (const char* descr : {"|O",
                            "O8",
                            "[('a', '|O')]",
                            "",
                            "<",
                            "<f3",
                            "<f11",
                            "<i5",
                            "f4x",
                            "<M8[parsec]",
                            "<M8[0s]",
                            "<M4[s]",
                            "<S",
                            "|S99999999999999999999",
                            "<U4611686018427387904",
                            "['a']",
                            "[('a', '<f4', (-1,))]",
                            "[('a',)]",
                            "('<f4',)",
                            "None",
                            "[('a', '|S9223372036854775807'), ('b', '|S1')]",
                            "[('a', '<f4', (4611686018427387904, 4))]"}) {
    EXPECT_THROW(dtype_size(std::string_view(descr)), Error) << descr;
  }
}

TEST(Dtype, NamesNumbersOfBothOrders) {
  constexpr bool little = std::endian::native == std::endian::little;
  EXPECT_EQ(element_type_of(little ? "'<f4'" : "'>f4'", 4), ElementType(Kind::f32));
  EXPECT_EQ(element_type_of("'|b1'", 1), ElementType(Kind::boolean));
  EXPECT_EQ(element_type_of(little ? "'>f4'" : "'<f4'", 4), ElementType(Kind::f32).swapped());
  EXPECT_EQ(element_type_of("'>u1'", 1), ElementType(Kind::u8));
  EXPECT_EQ(element_type_of("'>f16'", 16), ElementType::bytes(16));
  EXPECT_EQ(element_type_of("'>M8[s]'", 8), ElementType::bytes(8));
  EXPECT_EQ(element_type_of("[('a', '<f4')]", 4), ElementType::bytes(4));
}

TEST(NpyHeader, FillsTheBytesThatItHas) {
  const NpyHeader header{1, "'<f8'", 8, false, {2, 3}};
  const std::string bytes = format_npy_header(header, 300);
  EXPECT_EQ(bytes.size(), 300U);
  EXPECT_EQ(bytes.back(), '\n');
  EXPECT_EQ(parse_npy_header(bytes), header);
  const auto least = static_cast<std::int64_t>(bytes.find_last_not_of(" \n")) + 2;
  EXPECT_EQ(parse_npy_header(format_npy_header(header, least)), header);
  EXPECT_THROW(format_npy_header(header, least - 1), Error);
}

TEST(NpyHeader, TextsAreLatin1OrUtf8) {
  const NpyHeader latin1{1, "[('\xe4', '<f4')]", 4, false, {2}};
  EXPECT_EQ(descr_text(latin1), "[('\xc3\xa4', '<f4')]");
  const auto descr = [](const std::string& name) {
    return parse_npy_header(
               file_start(3, "{'descr': [('" + name +
                                 "', '<f4')], 'fortran_order': False, 'shape': (2,)}\n"))
        .descr;
  };
  for (const char* name : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(descr(name), std::string("[('") + name + "', '<f4')]");
  }
  for (const char* name :
       {"\xc3", "\xc1\xa4", "\xe2\x82", "\xf5\x80\x80\x80", "\x80", "\xc3\xc3"}) {
    EXPECT_THROW(descr(name), Error) << name;
  }
}

TEST(Dtype, IsShownOnOneLine) {
  try {
    dtype_size("'xq\x1b'");
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("dtype 'xq ' is"), 0U) << error.what();
  }
}

TEST(Dtype, IsDescribedAsNumpyDoes) {
  const std::string order = std::endian::native == std::endian::little ? "'<" : "'>";
  EXPECT_EQ(descr_of(ElementType(Kind::f32)), order + "f4'");
  EXPECT_EQ(descr_of(ElementType(Kind::u8)), "'|u1'");
  EXPECT_EQ(descr_of(ElementType(Kind::c128)), order + "c16'");
  EXPECT_EQ(descr_of(ElementType(Kind::bf16)), order + "V2'");
  EXPECT_EQ(descr_of(ElementType(Kind::f8_e4m3)), order + "V1'");
  const std::string other = order == "'<" ? "'>" : "'<";
  EXPECT_EQ(descr_of(ElementType(Kind::i64).swapped()), other + "i8'");
  EXPECT_EQ(descr_of(ElementType(Kind::u8).swapped()), "'|u1'");
}

TEST(PythonLiteral, KeepsWhatWasWritten) {
  const Literal literal = parse_python_literal(" {'a': (1, [None, -2L]), \"b\" : ('x')} ");
  ASSERT_EQ(literal.type, Literal::Type::dict);
  ASSERT_EQ(literal.items.size(), 4U);
  EXPECT_EQ(literal.items[0].string(), "a");
  EXPECT_EQ(literal.items[1].text, "(1, [None, -2L])");
  EXPECT_EQ(literal.items[1].items[1].items[1].integer, -2);
  EXPECT_EQ(literal.items[3].string(), "x");
}

}  // namespace
}  // namespace cornerturn::io
