// Prints bits of half, bfloat16 and 8-bit floats, which test_guest_values.py compares with NumPy's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <vector>

static std::vector<unsigned> read(const char* path) {
  std::vector<unsigned> words;
  if (FILE* file = fopen(path, "rb")) {
    unsigned word;
    while (fread(&word, sizeof(word), 1, file) == 1) {
      words.push_back(word);
    }
    fclose(file);
  }
  return words;
}

static void put(unsigned v) {
  fwrite(&v, sizeof(v), 1, stdout);
}

static unsigned bits(float v) {
  return __float_as_uint(v);
}
static unsigned bits(__half v) {
  return __half_as_ushort(v);
}
static unsigned bits(__nv_bfloat16 v) {
  return __bfloat16_as_ushort(v);
}

// Each value once, by every conversion to a smaller format.
static void conversions(const std::vector<unsigned>& floats) {
  for (const unsigned word : floats) {
    const float v = __uint_as_float(word);
    put(bits(__float2half_rn(v)));
    put(bits(__float2half_rz(v)));
    put(bits(__float2half_ru(v)));
    put(bits(__float2half_rd(v)));
    put(bits(__float2bfloat16_rn(v)));
    put(bits(__float2bfloat16_rz(v)));
    put(bits(__float2bfloat16_ru(v)));
    put(bits(__float2bfloat16_rd(v)));
    put(__nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E4M3));
    put(__nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E5M2));
    put(__nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3));
    put(__nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2));
    put(__nv_cvt_float_to_fp4(v, __NV_E2M1, cudaRoundNearest));
  }
}

template <class T>
static void arithmetic(T a, T b, T c) {
  put(bits(a + b));
  put(bits(a - b));
  put(bits(a * b));
  put(bits(a / b));
  put(bits(__hfma(a, b, c)));
  put(bits(hsqrt(__habs(a))));
  put(bits(__hmax(a, b)));
  put(bits(__hmin(a, b)));
  put(a < b);
  put(a == b);
  put(__hgeu(a, b));
}

int main(int count, char** arguments) {
  if (count != 2) {
    for (unsigned i = 0; i < 65536; ++i) {
      put(bits(__half2float(__ushort_as_half(static_cast<unsigned short>(i)))));
      put(bits(__bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(i)))));
      put(bits(static_cast<float>(
          static_cast<__half>(__nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(i), __NV_E4M3)))));
      put(bits(static_cast<float>(
          static_cast<__half>(__nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(i), __NV_E5M2)))));
      put(bits(static_cast<float>(
          static_cast<__half>(__nv_cvt_fp4_to_halfraw(static_cast<unsigned char>(i), __NV_E2M1)))));
    }
    return 0;
  }
  const std::vector<unsigned> words = read(arguments[1]);
  conversions(words);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto a = static_cast<unsigned short>(words[i]);
    const auto b = static_cast<unsigned short>(words[i] >> 16);
    const auto c = static_cast<unsigned short>(words[i + 1]);
    arithmetic(__ushort_as_half(a), __ushort_as_half(b), __ushort_as_half(c));
    arithmetic(__ushort_as_bfloat16(a), __ushort_as_bfloat16(b), __ushort_as_bfloat16(c));
  }
  return 0;
}
