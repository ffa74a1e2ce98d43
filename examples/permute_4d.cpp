// A batch of images from channels-last (n, h, w, c) to channels-first (n, c, h, w).
#include <cstdio>
#include <vector>

#include "cornerturn/cornerturn.hpp"

int main() {
  std::vector<float> in(2 * 4 * 5 * 3), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);

  cornerturn::permute(out.data(), cornerturn::view(in.data(), {2, 4, 5, 3}), {0, 3, 1, 2});

  std::printf("first row of each channel of image 0:\n");
  for (const float* row : {&out[0], &out[20], &out[40]}) {
    for (int w = 0; w < 5; ++w) std::printf("%5.0f", static_cast<double>(row[w]));
    std::printf("\n");
  }
  return out[20] == 1 ? 0 : 1;  // channel 1 of pixel (0, 0)
}
