// The C interface: status codes, messages, nothing written on an error.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cornerturn/cornerturn.h"

namespace {

TEST(C, TransposesAndPermutes) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  float dst[6] = {};
  ASSERT_EQ(ct_transpose(dst, src, 2, 3, "f32", nullptr), CT_OK);
  EXPECT_EQ(std::vector<float>(dst, dst + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_STREQ(ct_last_error(), "");

  const int64_t shape[3] = {1, 2, 3};
  const int perm[3] = {2, 0, 1};
  const ct_const_view view = {src, "f32", 3, shape, nullptr};
  const ct_options options = CT_OPTIONS_INIT;
  std::fill(dst, dst + 6, -1.0f);
  ASSERT_EQ(ct_permute(dst, &view, perm, &options), CT_OK);
  EXPECT_EQ(std::vector<float>(dst, dst + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(C, TakesValuesInEitherOrderOfBytes) {
  const unsigned char src[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};  // 1 and -2, highest byte first
  unsigned char little[8] = {};
  ASSERT_EQ(ct_transpose_to(little, "<f4", src, 1, 2, ">f4", nullptr, nullptr), CT_OK);
  EXPECT_EQ(std::vector<int>(little, little + 8),
            (std::vector<int>{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  short values[2] = {};
  ASSERT_EQ(ct_transpose_to(values, "i16", src, 1, 2, ">f4", nullptr, nullptr), CT_OK);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(ct_transpose_to(values, ">M8", src, 1, 2, ">f4", nullptr, nullptr),
            CT_INVALID_ARGUMENT);
}

TEST(C, CopiesByLists) {
  const float pool[4][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  float dst[6] = {-1, -1, -1, -1, -1, -1};
  const int32_t indices[3] = {2, -1, 0};
  const int64_t shape[2] = {3, 2};
  const ct_const_view src = {pool, "f32", 2, shape, nullptr};
  const ct_view to = {dst, "f32", 2, shape, nullptr};
  ct_list list = CT_LIST_INIT;
  list.places = CT_I32;
  list.table = indices;
  list.count = 4;
  ASSERT_EQ(ct_copy_listed(&to, nullptr, &src, &list, nullptr, CT_CHECK_ON_CPU, nullptr), CT_OK);
  EXPECT_EQ(std::vector<float>(dst, dst + 6), (std::vector<float>{4, 5, 0, 0, 0, 1}));

  list.count = 2;
  EXPECT_EQ(ct_copy_listed(&to, nullptr, &src, &list, nullptr, CT_CHECK_ON_CPU, nullptr),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "src.list: index 0 is 2, but it has to be less than 2, and -1 at least");
  list.places = 9;
  EXPECT_EQ(ct_copy_listed(&to, nullptr, &src, &list, nullptr, CT_CHECK_ON_CPU, nullptr),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "src_list.places = 9 is unknown: use CT_I32, CT_I64 or CT_POINTERS");
}

TEST(C, PermutesInPlace) {
  float array[6] = {0, 1, 2, 3, 4, 5};
  ASSERT_EQ(ct_transpose_in_place(array, 2, 3, "f32", nullptr), CT_OK);
  const std::vector<float> transposed{0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::vector<float>(array, array + 6), transposed);
  const int64_t shape[3] = {1, 3, 2};
  const int perm[3] = {2, 0, 1};
  int64_t strides[3] = {};
  const ct_view view = {array, "f32", 3, shape, nullptr};
  ASSERT_EQ(ct_permute_in_place(&view, perm, strides, nullptr), CT_OK);
  EXPECT_EQ(std::vector<float>(array, array + 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(std::vector<int64_t>(strides, strides + 3), (std::vector<int64_t>{12, 12, 4}));
  EXPECT_EQ(ct_permute_in_place(&view, nullptr, strides, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_transpose_in_place(array, 2, -3, "f32", nullptr), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "columns = -3 is negative");
  EXPECT_EQ(std::vector<float>(array, array + 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

// A matrix of 2 x 4 in two rows becomes two rows of its transpose.
TEST(C, Redistributes) {
  const int64_t whole[2] = {2, 4}, mesh[1] = {2}, row[2] = {1, 4}, part[2] = {2, 2};
  const int perm[2] = {1, 0};
  const int src[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  int dst[2][4] = {};
  const ct_const_view from[2] = {{src[0], "i32", 2, row, nullptr},
                                 {src[1], "i32", 2, row, nullptr}};
  ct_view to[2] = {{dst[0], "i32", 2, part, nullptr}, {dst[1], "i32", 2, part, nullptr}};
  ct_resharding what = CT_RESHARDING_INIT;
  what.rank = 2;
  what.shape = whole;
  what.mesh_rank = 1;
  what.mesh = mesh;
  what.src = what.dst = "S0";
  what.perm = perm;
  ASSERT_EQ(ct_redistribute(to, from, 2, &what), CT_OK) << ct_last_error();
  EXPECT_EQ(std::vector<int>(dst[0], dst[0] + 4), (std::vector<int>{0, 4, 1, 5}));
  EXPECT_EQ(std::vector<int>(dst[1], dst[1] + 4), (std::vector<int>{2, 6, 3, 7}));
  what.perm = nullptr;
  what.src = "S0";
  what.dst = "S1";
  ASSERT_EQ(ct_redistribute(to, from, 2, &what), CT_OK) << ct_last_error();
  EXPECT_EQ(std::vector<int>(dst[1], dst[1] + 4), (std::vector<int>{2, 3, 6, 7}));

  const auto refusal = [&](const ct_resharding& wrong) {
    EXPECT_EQ(ct_redistribute(to, from, 2, &wrong), CT_INVALID_ARGUMENT);
    return std::string(ct_last_error());
  };
  ct_resharding wrong = what;
  wrong.route = "by post";
  EXPECT_EQ(refusal(wrong),
            "options.route = 'by post' is no route between GPUs of one host: use 'one pass' or "
            "'copy engines'");
  wrong = what;
  wrong.mesh_rank = -1;
  EXPECT_EQ(refusal(wrong), "mesh_rank = -1: 0 to 64 are supported");
  wrong = what;
  wrong.dst = nullptr;
  EXPECT_EQ(refusal(wrong), "dst = NULL, but it is needed");
  wrong = what;
  wrong.size = 8;
  EXPECT_NE(refusal(wrong).find("start from CT_RESHARDING_INIT"), std::string::npos);
  to[1].type = "f32";
  EXPECT_NE(refusal(what).find("dst[1] has elements of f32"), std::string::npos);
  EXPECT_EQ(ct_redistribute(nullptr, from, 2, &what), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_redistribute(to, from, 1, &what), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "dst has 1 shards, but mesh = (2) has 2 devices");
  EXPECT_EQ(ct_redistribute(to, from, -1, &what), CT_INVALID_ARGUMENT);
}

TEST(C, CopiesViewsAndPlans) {
  const int src[6] = {0, 1, 2, 3, 4, 5};
  int dst[6] = {};
  const int64_t shape[2] = {3, 2};
  const int64_t src_strides[2] = {4, 12};
  const ct_const_view from = {src, "i32", 2, shape, src_strides};
  const ct_view to = {dst, "i32", 2, shape, nullptr};
  ASSERT_EQ(ct_copy(&to, &from, nullptr), CT_OK);
  EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int>{0, 3, 1, 4, 2, 5}));

  ct_plan* plan = nullptr;
  ASSERT_EQ(ct_plan_make(&plan, &to, &from, nullptr), CT_OK);
  std::fill(dst, dst + 6, -1);
  ASSERT_EQ(ct_plan_execute(plan, dst, src), CT_OK);
  EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_NE(std::string(ct_plan_explain(plan)).find("normalised"), std::string::npos);
  ct_plan_free(plan);
  ct_plan_free(nullptr);
  EXPECT_EQ(ct_plan_explain(nullptr), nullptr);
}

TEST(C, ErrorsSayWhatIsWrongAndWriteNothing) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  float dst[6] = {7, 7, 7, 7, 7, 7};
  EXPECT_EQ(ct_transpose(dst, src, -2, 3, "f32", nullptr), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "rows = -2 is negative");
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f33", nullptr), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_transpose(nullptr, src, 2, 3, "f32", nullptr), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_transpose(dst, src, INT64_MAX, 3, "f32", nullptr), CT_OVERFLOW);
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, nullptr, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "type = NULL, but it is needed");
  ct_options options = CT_OPTIONS_INIT;
  options.size = 3;
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_INVALID_ARGUMENT);
  options = CT_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_INVALID_ARGUMENT);
  options = CT_OPTIONS_INIT;
  options.effort = 9;
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_copy(nullptr, nullptr, nullptr), CT_INVALID_ARGUMENT);
  ct_plan* plan = reinterpret_cast<ct_plan*>(dst);
  EXPECT_EQ(ct_plan_make(&plan, nullptr, nullptr, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(ct_plan_execute(nullptr, dst, src), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_load_winners("/nonexistent/winners"), CT_IO_ERROR);
  for (const float value : dst) EXPECT_EQ(value, 7.0f);
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", nullptr), CT_OK);
  EXPECT_STREQ(ct_last_error(), "");
}

// The shape has fewer extents than that: it is not read.
TEST(C, ARankThatIsTooLargeIsRefused) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  float dst[6] = {9};
  const int64_t shape[2] = {3, 2};
  const int perm[2] = {1, 0};
  const ct_const_view view = {src, "f32", 100000000, shape, nullptr};
  EXPECT_EQ(ct_permute(dst, &view, perm, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ct_last_error()).find("rank = 100000000, at most 64 are supported"),
            std::string::npos);
  EXPECT_EQ(dst[0], 9);
}

TEST(C, OptionsOfAnOlderProgramAreTaken) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  float dst[6] = {};
  ct_options options = CT_OPTIONS_INIT;
  options.size = offsetof(ct_options, stream);
  options.device = reinterpret_cast<const char*>(1);  // behind the end of such a struct
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_OK) << ct_last_error();
  EXPECT_EQ(dst[1], 3);
  options = CT_OPTIONS_INIT;
  options.size = offsetof(ct_options, blocks);
  options.device = "cpu";
  options.blocks = -5;  // behind the end of such a struct
  dst[1] = 9;
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_OK) << ct_last_error();
  EXPECT_EQ(dst[1], 3);
  options.device = "gpu";
  EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_INVALID_ARGUMENT);
}

TEST(C, BlocksAreRefusedWithinOneMemory) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  float dst[6] = {9};
  for (const int blocks : {16, -1}) {
    ct_options options = CT_OPTIONS_INIT;
    options.blocks = blocks;
    EXPECT_EQ(ct_transpose(dst, src, 2, 3, "f32", &options), CT_INVALID_ARGUMENT);
    const std::string named = "options.blocks = " + std::to_string(blocks);
    EXPECT_EQ(std::string(ct_last_error()).find(named), 0U) << ct_last_error();
    EXPECT_EQ(dst[0], 9);
  }
}

TEST(C, PlansForADescribedDevice) {
  const int64_t shape[2] = {1024, 2048};
  const int64_t turned[2] = {2, 2048};
  const ct_const_view from = {nullptr, "f16", 2, shape, turned};
  const ct_view to = {nullptr, "f16", 2, shape, nullptr};
  ct_options options = CT_OPTIONS_INIT;
  options.device = "h200";
  ct_plan* plan = nullptr;
  ASSERT_EQ(ct_plan_make(&plan, &to, &from, &options), CT_OK) << ct_last_error();
  EXPECT_STREQ(ct_plan_device(plan), "NVIDIA H200");
  const short src = 0;
  short dst = 0;
  EXPECT_EQ(ct_plan_execute(plan, &dst, &src), CT_UNSUPPORTED);
  EXPECT_NE(std::string(ct_last_error()).find("described NVIDIA H200"), std::string::npos);
  ct_plan_free(plan);
  options.device = "h2000";
  EXPECT_EQ(ct_plan_make(&plan, &to, &from, &options), CT_INVALID_ARGUMENT);
  EXPECT_EQ(ct_plan_device(nullptr), nullptr);
  EXPECT_EQ(ct_plan_execute_on(nullptr, &dst, &src, nullptr), CT_INVALID_ARGUMENT);
}

TEST(C, ConvertsOnTheWay) {
  const float src[6] = {0, 1, 2, 3, 4, 5};
  signed char dst[6] = {};
  const float scale[3] = {1, 10, 100};
  ct_epilogue epilogue = CT_EPILOGUE_INIT;
  epilogue.scale = scale;
  epilogue.scale_mode = 0;
  epilogue.overflow = CT_SATURATE;
  ASSERT_EQ(ct_transpose_to(dst, "i8", src, 2, 3, "f32", &epilogue, nullptr), CT_OK)
      << ct_last_error();
  EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int>{0, 3, 10, 40, 127, 127}));

  const int64_t shape[2] = {3, 2};
  const int64_t turned[2] = {4, 12};
  const ct_view to = {dst, "i8", 2, shape, nullptr};
  const ct_const_view from = {src, "f32", 2, shape, turned};
  ct_plan* plan = nullptr;
  ASSERT_EQ(ct_plan_make_with(&plan, &to, &from, &epilogue, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(ct_plan_execute(plan, dst, src), CT_INVALID_ARGUMENT);
  std::fill(dst, dst + 6, 0);
  EXPECT_EQ(ct_plan_execute_with(plan, dst, src, &epilogue, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int>{0, 3, 10, 40, 127, 127}));
  ct_plan_free(plan);

  epilogue.rounding = 2;
  EXPECT_EQ(ct_copy_with(&to, &from, &epilogue, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "epilogue.rounding = 2 is unknown: use CT_NEAREST_EVEN or CT_STOCHASTIC");
  epilogue.size = 8;
  EXPECT_EQ(ct_copy_with(&to, &from, &epilogue, nullptr), CT_INVALID_ARGUMENT);
}

TEST(C, QuantisesInBlocks) {
  float src[64];
  for (int i = 0; i < 64; ++i) src[i] = static_cast<float>(i);
  unsigned char blocks[68], values[64], scales[2];
  const int64_t shape[2] = {2, 32}, counted[2] = {2, 1};
  const ct_const_view from = {src, "f32", 2, shape, nullptr};
  const ct_view to = {blocks, "b34", 2, counted, nullptr};
  ASSERT_EQ(ct_quantise_q8_0(&to, &from, 1, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(blocks[2 + 31], 127);
  float back[64];
  const ct_view dst = {back, "f32", 2, shape, nullptr};
  const ct_const_view read = {blocks, "b34", 2, counted, nullptr};
  ASSERT_EQ(ct_dequantise_q8_0(&dst, &read, 1, nullptr), CT_OK) << ct_last_error();
  EXPECT_NEAR(back[63], 63, 0.1);

  ct_block_options options = CT_BLOCK_OPTIONS_INIT;
  options.scale = CT_BLOCK_CEIL;
  const ct_view codes = {values, "f8_e5m2", 2, shape, nullptr};
  const ct_view exponents = {scales, "u8", 2, counted, nullptr};
  ASSERT_EQ(ct_quantise_mxfp8(&codes, &exponents, &from, 1, &options), CT_OK) << ct_last_error();
  EXPECT_EQ(scales[0], 127 + 5 - 15 + 1 - 1);
  const ct_const_view codes_in = {values, "f8_e5m2", 2, shape, nullptr};
  const ct_const_view exponents_in = {scales, "u8", 2, counted, nullptr};
  ASSERT_EQ(ct_dequantise_mxfp8(&dst, &codes_in, &exponents_in, 1, nullptr), CT_OK);
  EXPECT_NEAR(back[63], 63, 8);
  options.scale = 7;
  EXPECT_EQ(ct_quantise_mxfp8(&codes, &exponents, &from, 1, &options), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "options.scale = 7 is unknown: use CT_BLOCK_FLOOR, CT_BLOCK_CEIL or CT_BLOCK_EVEN");
}

TEST(C, QuantisesTheRowsOfAList) {
  std::vector<float> tokens(2 * 128);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<float>(i % 17) - 8;
  std::vector<int32_t> rows(128, -1);
  rows[0] = 1;
  rows[127] = 0;
  const int64_t shape[] = {128, 128}, of_scales[] = {128, 1};
  const ct_const_view from = {tokens.data(), "f32", 2, shape, nullptr};
  ct_list list = CT_LIST_INIT;
  list.places = CT_I32;
  list.table = rows.data();
  list.count = 2;
  using Values = std::vector<unsigned char>;
  Values values(128 * 128, 0xff), columns = values;
  std::vector<float> scales(128), column_scales(128);
  const ct_view to = {values.data(), "f8_e4m3", 2, shape, nullptr};
  const ct_view to_scales = {scales.data(), "f32", 2, of_scales, nullptr};
  ASSERT_EQ(ct_quantise_listed("fp8_1x128", &to, &to_scales, &from, &list, 1, nullptr), CT_OK)
      << ct_last_error();
  EXPECT_EQ(Values(values.begin() + 128, values.end() - 128), Values(126 * 128, 0));
  EXPECT_EQ(scales[0], 8.0F / 448);
  EXPECT_EQ(scales[1], 1e-4F / 448);

  const Values one_way = values;
  const ct_view across = {columns.data(), "f8_e4m3", 2, shape, nullptr};
  const ct_view across_scales = {column_scales.data(), "f32", 2, of_scales, nullptr};
  ASSERT_EQ(ct_quantise_both_listed("fp8_1x128", &to, &to_scales, &across, &across_scales, &from,
                                    &list, nullptr),
            CT_OK)
      << ct_last_error();
  EXPECT_EQ(values, one_way);
  EXPECT_EQ(column_scales[9], 7.0F / 448);  // of tokens[9] and tokens[137]

  std::vector<float> back(tokens.size(), 99);
  const ct_view dst = {back.data(), "f32", 2, shape, nullptr};
  const ct_const_view values_in = {values.data(), "f8_e4m3", 2, shape, nullptr};
  const ct_const_view scales_in = {scales.data(), "f32", 2, of_scales, nullptr};
  ASSERT_EQ(ct_dequantise_listed("fp8_1x128", &dst, &list, &values_in, &scales_in, 1, nullptr),
            CT_OK)
      << ct_last_error();
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], tokens[i], 0.6) << i;
  rows[5] = 2;
  EXPECT_EQ(ct_quantise_listed("fp8_1x128", &to, &to_scales, &from, &list, 1, nullptr),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "src.list: index 5 is 2, but it has to be less than 2, and -1 at least");
  EXPECT_EQ(values, one_way);
  ct_block_options options = CT_BLOCK_OPTIONS_INIT;
  options.checks = 7;
  EXPECT_EQ(ct_quantise_listed("fp8_1x128", &to, &to_scales, &from, &list, 1, &options),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "checks = 7 is unknown: use CT_CHECK_ON_CPU, CT_CHECK_ALWAYS or CT_CHECK_NEVER");
}

TEST(C, QuantisesInEveryFormat) {
  std::vector<float> src(128 * 256);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 37) - 18;
  std::vector<unsigned char> rows(src.size()), columns(src.size());
  std::vector<float> row_scales(256), column_scales(256);
  const int64_t shape[2] = {128, 256}, back_shape[2] = {256, 128};
  const int64_t of_rows[2] = {128, 2}, of_columns[2] = {256, 1};
  const int64_t scales_first[2] = {4, 128 * 4};  // one after the other along columns
  const ct_const_view from = {src.data(), "f32", 2, shape, nullptr};
  const ct_view to = {rows.data(), "f8_e4m3", 2, shape, nullptr};
  const ct_view to_scales = {row_scales.data(), "f32", 2, of_rows, scales_first};
  ASSERT_EQ(ct_quantise("fp8_1x128", &to, &to_scales, &from, 1, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(row_scales[0], 18.0F / 448);
  const std::vector<unsigned char> one_way = rows;
  const ct_view across = {columns.data(), "f8_e4m3", 2, back_shape, nullptr};
  const ct_view across_scales = {column_scales.data(), "f32", 2, of_columns, nullptr};
  ASSERT_EQ(ct_quantise_both("fp8_1x128", &to, &to_scales, &across, &across_scales, &from, nullptr),
            CT_OK)
      << ct_last_error();
  EXPECT_EQ(rows, one_way);
  std::vector<float> again(src.size());
  const ct_view dst = {again.data(), "f32", 2, back_shape, nullptr};
  const ct_const_view values_in = {columns.data(), "f8_e4m3", 2, back_shape, nullptr};
  const ct_const_view scales_in = {column_scales.data(), "f32", 2, of_columns, nullptr};
  ASSERT_EQ(ct_dequantise("fp8_1x128", &dst, &values_in, &scales_in, 1, nullptr), CT_OK);
  for (std::size_t i = 0; i < 128; ++i) {
    for (std::size_t j = 0; j < 256; ++j) {
      ASSERT_NEAR(again[j * 128 + i], src[i * 256 + j], 18.0 / 16);
    }
  }
  EXPECT_EQ(ct_quantise("fp8_1x129", &to, &to_scales, &from, 1, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ct_last_error()).find("format = fp8_1x129 is none of q8_0, mxfp8_e4m3"),
            std::string::npos);
  EXPECT_EQ(ct_quantise("fp8_1x128", &to, nullptr, &from, 1, nullptr), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "scales = null: fp8_1x128 has an array of scales");
  ct_block_options options = CT_BLOCK_OPTIONS_INIT;
  options.scale_order = CT_SCALES_TILES_128X4;
  EXPECT_EQ(ct_quantise("fp8_1x128", &to, &to_scales, &from, 1, &options), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "options.scale_order: scales of fp8_1x128 are f32, which have to be strided");
  options = CT_BLOCK_OPTIONS_INIT;
  options.size = offsetof(ct_block_options, scale_order);  // of a caller that knows no more
  options.scale_order = 77;
  EXPECT_EQ(ct_quantise("fp8_1x128", &to, &to_scales, &from, 1, &options), CT_OK);
}

TEST(C, SaysItsVersion) {
  EXPECT_STREQ(ct_version(), CORNERTURN_VERSION);
  EXPECT_EQ(ct_abi_version(), CT_ABI_VERSION);
}

}  // namespace
