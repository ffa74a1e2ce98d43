// Blocks whose scale is inside them, one at a time: ggml's.
#include "core/block_format.hpp"
#include "cpu/block_codes.hpp"
#include "values/ggml_blocks.hpp"

namespace cornerturn::cpu {
namespace {

namespace ggml = values::ggml;
using values::F16;

constexpr int of_32 = values::block_size;

void put_half(std::byte* at, float x) {
  const F16 half = values::narrow<F16>(x, Overflow::standard);
  std::memcpy(at, &half, sizeof half);
}
float get_half(const std::byte* at) {
  F16 half;
  std::memcpy(&half, at, sizeof half);
  return values::widen(half);
}

// Codes of 4 bits: the first half of them in the lower halves of bytes.
void put_nibbles(std::byte* at, const int* codes, int count) {
  for (int i = 0; i < count / 2; ++i) {
    at[i] = static_cast<std::byte>((codes[i] & 15) | (codes[i + count / 2] & 15) << 4);
  }
}
void get_nibbles(const std::byte* at, int* codes, int count) {
  for (int i = 0; i < count / 2; ++i) {
    codes[i] = static_cast<int>(at[i] & std::byte{15});
    codes[i + count / 2] = static_cast<int>(at[i] >> 4);
  }
}

// The fifth bits of 32 codes.
void put_upper(std::byte* at, const int* codes) {
  std::uint32_t bits = 0;
  for (int i = 0; i < of_32; ++i) bits |= static_cast<std::uint32_t>(codes[i] >> 4 & 1) << i;
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(bits >> 8 * i);
}
void get_upper(const std::byte* at, int* codes) {
  for (int i = 0; i < of_32; ++i) codes[i] |= (static_cast<int>(at[i / 8]) >> i % 8 & 1) << 4;
}

struct Q8 {
  static void encode(const float* x, std::byte* out) {
    values::Q8Block block;
    const values::Q8Scale scale = values::q8_scale(largest_of(x, {of_32, 1, 0}));
    block.scale = scale.stored;
    for (int i = 0; i < of_32; ++i) block.values[i] = values::q8_value(x[i], scale.inverse);
    std::memcpy(out, &block, sizeof block);
  }
  static void decode(const std::byte* from, float* x) {
    values::Q8Block block;
    std::memcpy(&block, from, sizeof block);
    for (int i = 0; i < of_32; ++i) {
      x[i] = values::q8_dequantised(block.values[i], block.scale);
    }
  }
};

// q4_0, q5_0, and with the least value q4_1 and q5_1.
template <int bits, bool with_least>
struct Steps {
  static constexpr int upper_at = with_least ? 4 : 2;
  static constexpr int codes_at = upper_at + (bits == 5 ? 4 : 0);

  static void encode(const float* x, std::byte* out) {
    const ggml::Head head =
        with_least ? ggml::least_head(x, of_32, bits) : ggml::signed_head(x, of_32, bits);
    int codes[of_32];
    for (int i = 0; i < of_32; ++i) {
      codes[i] =
          with_least ? ggml::least_code(x[i], head, bits) : ggml::signed_code(x[i], head, bits);
    }
    put_half(out, head.d);
    if (with_least) put_half(out + 2, head.least);
    if (bits == 5) put_upper(out + upper_at, codes);
    put_nibbles(out + codes_at, codes, of_32);
  }
  static void decode(const std::byte* from, float* x) {
    const float d = get_half(from);
    int codes[of_32];
    get_nibbles(from + codes_at, codes, of_32);
    if (bits == 5) get_upper(from + upper_at, codes);
    for (int i = 0; i < of_32; ++i) {
      const int step = with_least ? codes[i] : codes[i] - (1 << (bits - 1));
      x[i] = values::product(d, static_cast<float>(step));
      if (with_least) x[i] = values::sum(x[i], get_half(from + 2));
    }
  }
};

struct Iq4 {
  static void encode(const float* x, std::byte* out) {
    int codes[of_32];
    put_half(out, ggml::iq4_step(x, of_32, codes));
    put_nibbles(out + 2, codes, of_32);
  }
  static void decode(const std::byte* from, float* x) {
    const float d = get_half(from);
    int codes[of_32];
    get_nibbles(from + 2, codes, of_32);
    for (int i = 0; i < of_32; ++i) {
      x[i] = values::product(d, static_cast<float>(ggml::iq4_values[codes[i]]));
    }
  }
};

// `count` values of e2m1 with a scale, of which `half` is the half.
void encode_e2m1(const float* x, int count, float half, std::byte* out) {
  int codes[of_32];
  for (int i = 0; i < count; ++i) codes[i] = ggml::nearest_e2m1(x[i], half);
  put_nibbles(out, codes, count);
}
void decode_e2m1(const std::byte* from, int count, float half, float* x) {
  int codes[of_32];
  get_nibbles(from, codes, count);
  for (int i = 0; i < count; ++i) {
    x[i] = values::product(half, static_cast<float>(ggml::e2m1_twice[codes[i]]));
  }
}
float magnitude(const float* x, int count) {
  return values::bits_as<float>(largest_of(x, {count, 1, 0}));
}

struct Mxfp4 {
  static void encode(const float* x, std::byte* out) {
    const std::uint8_t code = ggml::mxfp4_scale(magnitude(x, of_32));
    out[0] = static_cast<std::byte>(code);
    encode_e2m1(x, of_32, ggml::mxfp4_half(code), out + 1);
  }
  static void decode(const std::byte* from, float* x) {
    decode_e2m1(from + 1, of_32, ggml::mxfp4_half(static_cast<std::uint8_t>(from[0])), x);
  }
};

struct Nvfp4 {
  static constexpr int parts = 4, of_part = 16;

  static void encode(const float* x, std::byte* out) {
    for (int i = 0; i < parts; ++i) {
      const float amax = magnitude(x + i * of_part, of_part);
      const std::uint8_t code = ggml::ue4m3_of(values::quotient(amax, 6.0F));
      out[i] = static_cast<std::byte>(code);
      encode_e2m1(x + i * of_part, of_part, ggml::ue4m3_half(code), out + parts + i * of_part / 2);
    }
  }
  static void decode(const std::byte* from, float* x) {
    for (int i = 0; i < parts; ++i) {
      decode_e2m1(from + parts + i * of_part / 2, of_part,
                  ggml::ue4m3_half(static_cast<std::uint8_t>(from[i])), x + i * of_part);
    }
  }
};

template <class Call>
void with_packed(BlockFormat format, const Call& call) {
  switch (format) {
    case BlockFormat::q4_0:
      return call(Steps<4, false>{});
    case BlockFormat::q4_1:
      return call(Steps<4, true>{});
    case BlockFormat::q5_0:
      return call(Steps<5, false>{});
    case BlockFormat::q5_1:
      return call(Steps<5, true>{});
    case BlockFormat::iq4_nl:
      return call(Iq4{});
    case BlockFormat::ggml_mxfp4:
      return call(Mxfp4{});
    case BlockFormat::ggml_nvfp4:
      return call(Nvfp4{});
    default:
      return call(Q8{});
  }
}

}  // namespace

void encode_packed(BlockFormat format, const float* x, std::byte* block) {
  with_packed(format, [&]<class Packed>(Packed) { Packed::encode(x, block); });
}

void decode_packed(BlockFormat format, const std::byte* block, float* x) {
  with_packed(format, [&]<class Packed>(Packed) { Packed::decode(block, x); });
}

}  // namespace cornerturn::cpu
