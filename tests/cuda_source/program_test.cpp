// Whole programs: headers of the user's own, what a kernel does not need, and generated mains.
#include "workshop/cuda_source/front/program.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cornerturn/error.hpp"
#include "workshop/cuda_source/front/compiler.hpp"
#include "workshop/cuda_source/front/declarations.hpp"

namespace cornerturn::cuda_source {
namespace {

namespace fs = std::filesystem;

class CudaProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cuda_program_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
    fs::create_directory(folder_ / "out");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string written(const std::string& name = "source-0.cpp") const {
    std::ifstream in(folder_ / "out" / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Program program(const std::string& text, const Request& request = {}) {
    return read_program(file("a.cu", text), request, {});
  }
  // The rewritten source, or what was refused.
  std::string result(const std::string& text, const Request& request = {}) {
    try {
      program(text, request).write((folder_ / "out").string());
      return written();
    } catch (const Error& error) {
      return error.what();
    }
  }

  fs::path folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Request launch_of(const std::string& kernel) {
  Request request;
  request.kernel = kernel;
  request.grid = {4, 2, 1};
  request.block = {32, 8, 1};
  request.arguments = {parse_argument("in:f32[8,4]"), parse_argument("out:f16[32]"),
                       parse_argument("7")};
  return request;
}

TEST_F(CudaProgram, HeadersOfTheUsersOwnAreRewritten) {
  file("inner.cuh", "#pragma once\n__global__ void k() { extern __shared__ int s[]; }\n");
  file("outer.cuh", "#include \"inner.cuh\" // twice\ninline void f() { k<<<1, 2>>>(); }\n");
  const std::string text = result(
      "#include \"outer.cuh\"\n#include \"inner.cuh\"\n#include \"none.h\"\nint main() { f(); }\n");
  const std::string out = (folder_ / "out").string();
  EXPECT_TRUE(contains(text, "#line 1 \"" + (folder_ / "a.cu").string() + "\"\n#include \"" + out +
                                 "/source-1.hpp\"\n#include \"" + out +
                                 "/source-2.hpp\"\n#include \"none.h\"\nint main"))
      << text;
  EXPECT_TRUE(contains(written("source-1.hpp"), "#include \"" + out + "/source-2.hpp\"\n"));
  EXPECT_TRUE(contains(written("source-1.hpp"), "launch_kernel"));
  EXPECT_TRUE(contains(written("source-2.hpp"), "cornerturn_dynamic_shared"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "source-3.hpp"));
}

constexpr const char* library = R"(#include <torch/extension.h>
#define SCALE 3
struct Pair { int a, b; };
struct Unused { Tensor t; };
using Index = int;
constexpr int helper_constant = 4;
static __device__ int twice(int x) { return helper_constant * x; }
template <class T> __global__ void scale(const T* in, T* out, Index n) {
  out[threadIdx.x] = in[0] * SCALE + twice(n);
}
__global__ void other() { wmma::fill(); }
torch::Tensor forward(torch::Tensor x) {
  other<<<1, 2>>>();
  return x;
}
PYBIND11_MODULE(NAME, m) { m.def("forward", &forward); }
)";

TEST_F(CudaProgram, AKernelIsTakenWithWhatItNeeds) {
  const std::string text = result(library, launch_of("scale<float>"));
  for (const char* kept : {"#define SCALE 3", "using Index", "helper_constant = 4", "int twice",
                           "__global__ void scale"}) {
    EXPECT_TRUE(contains(text, kept)) << kept << text;
  }
  for (const char* gone : {"struct Unused", "void other", "forward", "PYBIND11", "wmma"}) {
    EXPECT_FALSE(contains(text, gone)) << gone << text;
  }
  EXPECT_TRUE(
      contains(text, "Array<float> cornerturn_argument_0({8, 4}, {0, false, \"\", \"\", 0})"))
      << text;
  EXPECT_TRUE(contains(text, "Array<__half> cornerturn_argument_1({32}, {1, true, \"\", \"\", 0})"))
      << text;
  EXPECT_TRUE(contains(text, "\"scale<float>\", dim3(4, 2, 1), dim3(32, 8, 1), 0,")) << text;
  EXPECT_TRUE(contains(text, "a.cu\", 8}")) << "the line of the kernel's name" << text;
}

TEST_F(CudaProgram, AFunctionOfTheHostIsCalled) {
  Request request;
  request.function = "forward";
  request.arguments = {parse_argument("f32[8,4]"), parse_argument("i64=2")};
  std::string text = library;
  text.replace(text.find("wmma::fill();"), 13, "");
  text = result(text, request);
  EXPECT_TRUE(contains(text, "forward(cornerturn_argument_0, static_cast<long long>(2));")) << text;
  EXPECT_TRUE(
      contains(text, "make_tensor<float>({8, 4}, torch::kFloat32, {0, false, \"\", \"\", 0})"))
      << text;
  EXPECT_TRUE(contains(text, "void other"));
  EXPECT_FALSE(contains(text, "void scale"));
}

TEST_F(CudaProgram, NamesThatMacrosPasteTogetherAreFollowed) {
  const std::string source =
      "__global__ void relu_f32_kernel(float*) {}\n__global__ void relu_f16_kernel(float*) {}\n"
      "__global__ void other_kernel(float*) {}\n"
      "#define RUN(name) name##_kernel<<<1, 2>>>(p)\n"
      "#define BINDING(type, n) \\\n  void relu_##type(T x) { \\\n    RUN(relu_##type); \\\n  }\n"
      "BINDING(f32, 1)\nBINDING(f16, 2)\nvoid third(T x) { RUN(other); }\n";
  Request request;
  request.function = "relu_f16";
  const std::string text = result(source, request);
  EXPECT_TRUE(contains(text, "void relu_f16_kernel")) << text;
  EXPECT_TRUE(contains(text, "BINDING(f16, 2)")) << text;
  for (const char* gone : {"void relu_f32_kernel", "BINDING(f32, 1)", "other_kernel", "third"}) {
    EXPECT_FALSE(contains(text, gone)) << gone << text;
  }
  request.function = "third";
  EXPECT_TRUE(contains(result(source, request), "other_kernel"));
}

TEST_F(CudaProgram, WhatNobodyNeedsDoesNotHinder) {
  const std::string unused =
      "__global__ void a() {\n#pragma unroll\n#ifdef X\n#endif\n tex2D<float>(t, x, y); }\n";
  const std::string rest = "__global__ void b() {}\nint main() { b<<<1, 2>>>(); }\n";
  const std::string left = result(unused + rest);
  EXPECT_FALSE(contains(left, "tex2D") || contains(left, "unroll")) << left;
  EXPECT_TRUE(contains(left, "#ifdef X\n#endif\n")) << left;
  EXPECT_TRUE(contains(result(unused + "__global__ void b() {}\nint main() { a<<<1, 2>>>(); }\n"),
                       "a.cu:5: textures (tex2D) are not understood here"));
}

TEST_F(CudaProgram, WhatCannotBeRunIsRefused) {
  EXPECT_TRUE(contains(result("int x;\n"), "there is neither a main nor a kernel in it"));
  EXPECT_TRUE(contains(result(library), "launch one of the kernels scale, other, and --call"));
  EXPECT_TRUE(contains(result(library, launch_of("nothing<int>")), "--kernel = 'nothing<int>': "));
  EXPECT_TRUE(
      contains(result("__global__ void a() { a<<<1, 2>>>(); }\nint main() { a<<<1, 2>>>(); }"),
               "a.cu:1: launches by a kernel (dynamic parallelism)"));
  EXPECT_THROW(read_program((folder_ / "none.cu").string(), {}, {}), Error);
}

TEST_F(CudaProgram, AMissingHeaderIsLeftOutForAKernelAlone) {
  const std::string said = "a.cu:1:10: fatal error: cub/cub.cuh: No such file or directory\n";
  const std::string text = "#include <cub/cub.cuh>\n__global__ void k() {}\nint main() {}\n";
  EXPECT_FALSE(program(text).leave_out(said));
  Program picked = program(text, launch_of("k"));
  EXPECT_TRUE(picked.leave_out(said));
  EXPECT_FALSE(picked.leave_out(said));
  picked.write((folder_ / "out").string());
  EXPECT_FALSE(contains(written(), "cub.cuh"));
}

TEST_F(CudaProgram, ErrorsStandAtTheUsersLines) {
  const Program one = program("int main() {}\n");
  const Sources& sources = one.sources();
  const std::string path = sources.files[0].path;
  EXPECT_EQ(first_error(path + ":12:3: error: 'x' was not declared\n", sources),
            sources.files[0].name + ":12: 'x' was not declared");
  EXPECT_EQ(
      first_error("In file included from " + path + ":3:\n/usr/x.h:9:1: error: no\n", sources),
      sources.files[0].name + ":3: no (at x.h:9)");
  EXPECT_EQ(
      first_error("/usr/x.h:9:1: error: no\n" + path + ":7:2:   required from here\n", sources),
      sources.files[0].name + ":7: no (at x.h:9)");
}

TEST(CudaArguments, AreArraysAndNumbers) {
  const Argument array = parse_argument("out:bf16[3,5]=2.5");
  EXPECT_TRUE(array.is_array && array.is_output);
  EXPECT_EQ(array.extents, (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(array.value, "2.5");
  EXPECT_EQ(parse_argument("-1.5e3f").value, "-1.5e3f");
  EXPECT_EQ(parse_argument("f16=2").type, "f16");
  for (const char* text : {"", "f33[2]", "f32[]", "f32[0]", "f32[2,]", "f32[-1]", "system(1)",
                           "f32[2]=a", "f32=", "f32[99999999999]", "f32[65536,65537]", "in:7"}) {
    EXPECT_THROW(parse_argument(text), Error) << text;
  }
  EXPECT_EQ(parse_dimensions("--grid", "4,5"), (std::vector<std::int64_t>{4, 5, 1}));
  for (const char* text : {"", "0", "1,2,3,4", "x", "1,"}) {
    EXPECT_THROW(parse_dimensions("--grid", text), Error) << text;
  }
}

}  // namespace
}  // namespace cornerturn::cuda_source
