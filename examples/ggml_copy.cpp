// What a backend of ggml would add to run its copies (GGML_OP_CPY, GGML_OP_CONT and GGML_OP_DUP)
// here. `ggml_tensor` stands for ggml's own, of which the same members are used.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "cornerturn/cornerturn.hpp"

struct ggml_tensor {
  int type;
  std::int64_t ne[4];
  std::size_t nb[4];
  ggml_tensor* src[1];
  void* data;
};

// The backend's ten lines: in supports_op, and where the operator is computed.
static bool supports_copy(const ggml_tensor* op) {
  using cornerturn::GgmlTensor;
  return cornerturn::ggml_can_cpy(GgmlTensor::of(*op), GgmlTensor::of(*op->src[0]));
}
static void compute_copy(const ggml_tensor* op, void* stream) {
  using cornerturn::GgmlTensor;
  cornerturn::Options options;
  options.stream = stream;
  cornerturn::ggml_cpy(GgmlTensor::of(*op), GgmlTensor::of(*op->src[0]), options);
}

int main() try {
  // Keys of 2 heads, 5 tokens, 64 values a head, as they are computed: (value, head, token) in f32.
  // They go to tokens 3 to 7 of a cache of 16 in q8_0 that has its heads apart: a permuted source,
  // a destination with gaps, and another type, in one pass.
  constexpr std::int64_t values = 64, heads = 2, tokens = 5, room = 16;
  constexpr std::size_t row = values / 32 * 34;
  std::vector<float> keys(values * heads * tokens);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i % 255) - 127;
  std::vector<std::uint8_t> cache(row * room * heads);

  ggml_tensor permuted = {0, {values, tokens, heads, 1}, {4, 512, 256, 2560}, {}, keys.data()};
  ggml_tensor copy = {8,
                      {values, tokens, heads, 1},
                      {34, row, row * room, row * room * heads},
                      {&permuted},
                      &cache[3 * row]};
  if (!supports_copy(&copy)) return 1;
  compute_copy(&copy, nullptr);

  // And back, one head of the cache as f32.
  std::vector<float> head(values * tokens);
  ggml_tensor view = {8, {values, tokens, 1, 1}, {34, row, 0, 0}, {}, &cache[(room + 3) * row]};
  ggml_tensor cont = {0, {values, tokens, 1, 1}, {4, 256, 0, 0}, {&view}, head.data()};
  compute_copy(&cont, nullptr);

  const float key = keys[(4 * heads + 1) * values + 20], cached = head[4 * values + 20];
  std::printf("value 20 of head 1, token 4: %.0f, by way of the cache %.2f\n",
              static_cast<double>(key), static_cast<double>(cached));
  return cached > key - 0.6F && cached < key + 0.6F ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ggml_copy: %s\n", error.what());
  return 1;
}
