// What the solver prints to be pasted, compiled: forms.inc has each printed form as the body of a
// function. Prints its name and the offsets of all elements, row by row.
#include <cute/tensor.hpp>

#include <cstdio>
#include <type_traits>

#include "workshop/cuda/cute/layouts.hpp"

namespace {

template <class Place>
void show(const char* name, int rows, int columns, const Place& place) {
  std::printf("%s", name);
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      std::printf(" %lld", static_cast<long long>(place(row, column)));
    }
  }
  std::printf("\n");
}

}  // namespace

#include "forms.inc"

int main() {
  show_forms();
}
