/* A transposition, and an error that names its argument. */
#include <cornerturn/cornerturn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const int32_t in[6] = {0, 1, 2, 3, 4, 5};
  const int32_t want[6] = {0, 3, 1, 4, 2, 5};
  int32_t out[6] = {0};
  if (ct_transpose(out, in, 2, 3, "i32", NULL) != CT_OK || memcmp(out, want, sizeof want) != 0) {
    fprintf(stderr, "transpose: %s\n", ct_last_error());
    return 1;
  }
  if (ct_transpose(out, in, -1, 3, "i32", NULL) != CT_INVALID_ARGUMENT) return 1;
  printf("Cornerturn %s says: %s\n", ct_version(), ct_last_error());
  return strstr(ct_last_error(), "rows = -1") == NULL;
}
