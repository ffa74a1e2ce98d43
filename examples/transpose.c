/* The C interface: a matrix, then an error that says what was wrong. */
#include <stdint.h>
#include <stdio.h>

#include "cornerturn/cornerturn.h"

int main(void) {
  enum { rows = 3, columns = 4 };
  int32_t in[rows * columns];
  int32_t out[columns * rows];
  for (int i = 0; i < rows * columns; ++i) in[i] = i;

  if (ct_transpose(out, in, rows, columns, "i32", NULL) != CT_OK) {
    fprintf(stderr, "transpose: %s\n", ct_last_error());
    return 1;
  }
  for (int row = 0; row < columns; ++row) {
    for (int column = 0; column < rows; ++column) printf("%4d", (int)out[row * rows + column]);
    printf("\n");
  }

  if (ct_transpose(out, in, -1, columns, "i32", NULL) != CT_INVALID_ARGUMENT) return 1;
  printf("Cornerturn %s says: %s\n", ct_version(), ct_last_error());
  return out[1 * rows + 2] == in[2 * columns + 1] ? 0 : 1;
}
