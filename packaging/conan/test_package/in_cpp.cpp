// A matrix that is large enough for several threads, compared element by element.
#include <cornerturn/cornerturn.hpp>

#include <cstdio>
#include <vector>

int main() {
  const std::size_t rows = 1500, columns = 1001;
  std::vector<float> in(rows * columns), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  cornerturn::permute(out.data(), cornerturn::view(in.data(), {rows, columns}), {1, 0});
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      wrong += out[column * rows + row] != in[row * columns + column];
    }
  }
  std::printf("Cornerturn %s: %zu of %zu elements are wrong\n", cornerturn::version(), wrong,
              in.size());
  return wrong != 0;
}
