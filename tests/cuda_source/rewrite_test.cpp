// Text in, text out: what is rewritten in a CUDA source, and that nothing else is.
#include "workshop/cuda_source/front/rewrite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cornerturn::cuda_source {
namespace {

std::string rewritten(const std::string& source) {
  return rewrite(source).text;
}

std::string without_blanks(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; }),
             text.end());
  return text;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// What a launch of `callee` becomes.
std::string launch(const std::string& callee, const std::string& configuration,
                   const std::string& rest) {
  return "::cornerturn::guest::launch_kernel(::cornerturn::guest::Place{__builtin_FILE(), "
         "__builtin_LINE()}, CT_GUEST_TEXT(" +
         callee + "), ::cornerturn::guest::config(" + configuration +
         "), [&](auto... cornerturn_a) CT_GUEST_PLAIN { " + callee + "(cornerturn_a...); }" + rest;
}

TEST(CudaRewrite, TokensAreTheSourceAgain) {
  for (const std::string source :
       {"int a = 1'000; // it's\n", "R\"(a\"b)\" \"x\\\"y\" '\\''", "/* a\n b */ #x\n",
        "#define A b \\\n  c // d\nint", "a<<<b>>>c", "\"never ends\n int", "R\"x(never ends",
        "/* never ends", "x.5e-3f..."}) {
    std::string again;
    std::size_t line = 1;
    for (const Token& token : tokens_of(source)) {
      EXPECT_EQ(token.line, line) << token.text;
      again += token.text;
      line += lines_of(std::string(token.text));
    }
    EXPECT_EQ(again, source);
  }
}

TEST(CudaRewrite, WhatIsNoCudaStays) {
  for (const std::string source :
       {"std::cout << a << b;", "x = wmma::__float_to_tf32(y);", "out.operator<< <int>(a);",
        "friend S& operator<< <>(S&, T);", "A<B<C<int>>> x;",
        "f(\"k<<<1, 2>>>(3)\"); // k<<<1, 2>>>(3)", "/* __shared__ k<<<1, 2>>>(3); */",
        "R\"(k<<<1, 2>>>())\";", "#include \"a.cuh\"\n",
        "__device__ float f(float x) { return x; }", "__device__ const float pi = 3.14f;",
        "__device__ float4 operator+(float4 a, float4 b);", "[=] __device__ (int i) { a[i] = 0; };",
        "template <class T> __device__ T g(T (&a)[4]);", "const int n = 3;"}) {
    EXPECT_EQ(rewritten(source), source);
    EXPECT_TRUE(rewrite(source).refusals.empty()) << source;
  }
}

TEST(CudaRewrite, Launches) {
  EXPECT_EQ(rewritten("k<<<1, 32>>>(a, b);"), launch("k", "1, 32", ", a, b);"));
  EXPECT_EQ(rewritten("k<<<g, b, 0, s>>>();"), launch("k", "g, b, 0, s", ");"));
  // Tools that know C++ alone put blanks into the marks.
  for (const std::string source : {"k<< <1, 32>> >(a, b);", "k < < <1, 32 > > > (a, b);",
                                   "k <<\t<1, 32>>>(a, b);", "k< <<1, 32> >>(a, b);"}) {
    EXPECT_EQ(without_blanks(rewritten(source)), without_blanks(launch("k", "1, 32", ", a, b);")))
        << source;
    EXPECT_TRUE(rewrite(source).refusals.empty()) << source;
  }
  EXPECT_EQ(rewritten("k <<< dim3(1, 2), b >>> (a);"), launch("k ", " dim3(1, 2), b ", ", a);"));
  EXPECT_EQ(rewritten("ns::k<A<B<int>>, (3 > 2)><<<1, 2>>>(a);"),
            launch("ns::k<A<B<int>>, (3 > 2)>", "1, 2", ", a);"));
  EXPECT_EQ(rewritten("if (x) ::k<<<n >> 3, 2>>>(p, NULL);"),
            "if (x) " + launch("::k", "n >> 3, 2", ", p, nullptr);"));
  EXPECT_EQ(rewritten("table[i]<<<1, 2>>>(a);"), launch("table[i]", "1, 2", ", a);"));
  EXPECT_EQ(rewritten("T::template k<int><<<1, 2>>>(a);"),
            launch("T::template k<int>", "1, 2", ", a);"));
  EXPECT_EQ(rewritten("k<<<f(a<b>(1)), 2>>>(x);"), launch("k", "f(a<b>(1)), 2", ", x);"));
}

TEST(CudaRewrite, LaunchesInMacros) {
  EXPECT_EQ(rewritten("#define L(k, ...) k<<<g, b>>>(__VA_ARGS__)\n"),
            "#define L(k, ...) " + launch("k", "g, b", ", __VA_ARGS__)\n"));
  EXPECT_EQ(rewritten("#define L(name, T) name##_##T##_kernel<T><<<g, b>>>(x)\n"),
            "#define L(name, T) " + launch("name##_##T##_kernel<T>", "g, b", ", x)\n"));
  EXPECT_EQ(rewritten("#define L(name) name##2d_##4<<<g, b>>>(x)\n"),
            "#define L(name) " + launch("name##2d_##4", "g, b", ", x)\n"));
  EXPECT_EQ(rewrite("f(2 <<<g, b>>>(x));").refusals.size(), 1U);
  const std::string source = "#define L(T) \\\n  k<T, \\\n    32><<<g, \\\n  b>>>(x)\nint y;\n";
  const std::string text = rewritten(source);
  EXPECT_EQ(lines_of(text), lines_of(source));
  EXPECT_EQ(tokens_of(text)[0].kind, TokenKind::directive);
  EXPECT_EQ(tokens_of(text)[1].text, "\n") << text;
}

TEST(CudaRewrite, LaunchesByAnAddress) {
  const std::string place =
      "::cornerturn::guest::Place{__builtin_FILE(), __builtin_LINE()}, CT_GUEST_TEXT(";
  EXPECT_EQ(
      rewritten("cudaLaunchCooperativeKernel((void*)k<int, 3>, g, b, args);"),
      "::cornerturn::guest::launch_cooperative(" + place + "k<int, 3>), k<int, 3>, g, b, args);");
  EXPECT_EQ(rewritten("cudaLaunchKernel(reinterpret_cast<const void*>(&k), g, b, args, 0, s);"),
            "::cornerturn::guest::launch_by_address(" + place + "k), (&k), g, b, args, 0, s);");
}

TEST(CudaRewrite, LinesKeepTheirNumbers) {
  const std::string source =
      "k<float,\n  3>\n<<<dim3(1,\n 2), 3>>>\n(a, // first\n b);\nint last;\n";
  const std::string text = rewritten(source);
  EXPECT_EQ(lines_of(text.substr(0, text.find("last"))), 6U) << text;
}

TEST(CudaRewrite, Variables) {
  const std::string dynamic = " __asm__(\"cornerturn_dynamic_shared\");";
  const std::string refers = " = reinterpret_cast<decltype(s)>(::cornerturn_dynamic_shared); }";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"extern __shared__ float s[];", "extern __thread float s[]" + dynamic},
      {"namespace a::b { extern __shared__ float s[];",
       "namespace a::b { extern __thread float s[]" + dynamic},
      {"void f() {} extern \"C\" { extern __shared__ T s[];",
       "void f() {} extern \"C\" { extern __thread T s[]" + dynamic},
      {"void k() { if (x) { } extern __shared__ float s[]; }",
       "void k() { if (x) { }   float (&s)[]" + refers},
      {"struct A { T* get() { extern __shared__ alignas(16) A<T, 3> s[][32]; } };",
       "struct A { T* get() {   __align__(16) A<T, 3> (&s)[][32]" + refers + " };"},
      {"__shared__ extern T s[];", "__thread extern T s[]" + dynamic},
      {"extern __shared__ alignas(16) char s[];",
       "extern __thread __align__(16) char s[]" + dynamic},
      {"__shared__ float s[32][33];", "__shared__ float s[32][33] = {};"},
      {"__shared__ float a[2], b[3];", "__shared__ float a[2] = {}, b[3] = {};"},
      {"static __shared__ int n;", " __shared__ int n;"},
      {"__shared__ alignas(16) A<int, 3> s;", "__shared__ __align__(16) A<int, 3> s;"},
      {"__device__ int counter = 0;", "CT_GUEST_DEVICE_VARIABLE int counter = 0;"},
      {"static __device__ float4 a[4];", "static CT_GUEST_DEVICE_VARIABLE float4 a[4];"},
      {"__device__ A<int, 3> a;", "CT_GUEST_DEVICE_VARIABLE A<int, 3> a;"},
      {"__constant__ const float c[3] = {1, 2, 3};", "__constant__  float c[3] = {1, 2, 3};"},
      {"static constexpr __constant__ int c = 3;", "static  __constant__ int c = 3;"},
  };
  for (const auto& [source, text] : cases) EXPECT_EQ(rewritten(source), text);
}

TEST(CudaRewrite, VectorsInBracesStayWhole) {
  const auto whole = [](const std::string& type, const std::string& rest) {
    return type + "(::cornerturn::guest::whole(" + type + rest + "))";
  };
  EXPECT_EQ(rewritten("p[i] = float2{a, b};"), "p[i] = " + whole("float2", "{a, b}") + ";");
  EXPECT_EQ(rewritten("f(uchar4 {1, {2}.x, 3, 4})"),
            "f(" + whole("uchar4", " {1, {2}.x, 3, 4}") + ")");
  EXPECT_EQ(rewritten("#define V(x) int4{x, 0, 0, 0}\n"),
            "#define V(x) " + whole("int4", "{x, 0, 0, 0}") + "\n");
  EXPECT_EQ(rewritten("k<<<1, 2>>>(float2{1, 2});"),
            launch("k", "1, 2", ", " + whole("float2", "{1, 2}") + ");"));
  for (const char* source : {"float2 v{a, b};", "float2 f() { }", "[] () -> float2 { return v; }",
                             "float3{a, b, c}", "struct float2 { float x, y; };"}) {
    EXPECT_EQ(rewritten(source), source);
  }
}

TEST(CudaRewrite, AssemblyOnPairsOfSmallFloats) {
  const auto of = [](const std::string& instruction, const std::string& inputs) {
    return rewritten("asm(\"" + instruction + "\" : \"=r\"(d) : " + inputs + ");");
  };
  const std::string two = "\"r\"(a), \"r\"(b)";
  for (const auto& [name, mark] : std::vector<std::pair<std::string, std::string>>{
           {"add", "+"}, {"sub", "-"}, {"mul.rn", "*"}, {"min", "m"}, {"max", "M"}}) {
    for (const std::string type : {"f16x2", "bf16x2"}) {
      const std::string text = of(name + "." + type + " %0, %1, %2;", two);
      EXPECT_NE(text.find("asm_" + type + "<'" + mark + "'>("), std::string::npos) << text;
    }
  }
  const std::string fused = of("fma.rn.f16x2 %0, %1, %2, %3;", two + ", \"r\"(c)");
  EXPECT_NE(fused.find("asm_f16x2<'f'>("), std::string::npos) << fused;
  for (const std::string unknown : {"add.sat.f16x2", "min.NaN.bf16x2", "div.f16x2"}) {
    const auto done = rewrite("asm(\"" + unknown + " %0, %1, %2;\" : \"=r\"(d) : " + two + ");");
    ASSERT_EQ(done.refusals.size(), 1U) << unknown;
    EXPECT_NE(done.refusals[0].what.find(unknown), std::string::npos) << done.refusals[0].what;
  }
}

TEST(CudaRewrite, WhatIsNotUnderstoodIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\nnvcuda::wmma::mma_sync(a, b, c, d);", "tensor cores (wmma)"},
      {"\nfloat v = tex2D<float>(t, x, y);", "textures (tex2D)"},
      {"\nsurf2Dwrite(v, s, x, y);", "surfaces (surf2Dwrite)"},
      {"\ncudaLaunchKernelEx(&config, k, a);", "launches with attributes (cudaLaunchKernelEx)"},
      {"\n#define A(x) tex1Dfetch(x, 0)\n", "textures (tex1Dfetch)"},
      {"\nk<<<1, 2>>>;", "this launch is not understood"},
      {"\n<<<1, 2>>>(a);", "this launch is not understood"},
  };
  for (const auto& [source, what] : cases) {
    const std::vector<Refusal> refusals = rewrite(source).refusals;
    ASSERT_FALSE(refusals.empty()) << source;
    EXPECT_EQ(refusals.front().line, 2U) << source;
    EXPECT_NE(refusals.front().what.find(what), std::string::npos) << refusals.front().what;
  }
}

}  // namespace
}  // namespace cornerturn::cuda_source
