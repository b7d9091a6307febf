/* Compiles a program and calls it: sums of rows of any length.
 *
 *   cc rows.c -I../include -I../../native/include -L../../../target/release -lpar_c -o rows
 */
#include "par.h"

#include <stdio.h>

static int failed(void) {
  fprintf(stderr, "%s\n", par_error_message());
  return par_error_status();
}

int main(int argc, char **argv) {
  const char *text = argc > 1 ? argv[1] : "entry sums (xss: [][]f64): []f64 = map f64.sum xss";
  par_context *context = par_context_new("cpu", NULL);
  if (!context) return failed();
  par_program *program = par_compile(context, text, "rows.par", NULL);
  if (!program) return failed();

  /* [[1, 2], [], [3, 4, 5]] */
  double elements[] = {1, 2, 3, 4, 5};
  int64_t length = 5, offsets[] = {0, 2, 2, 5};
  par_value *flat = par_array_f64(elements, 1, &length);
  /* On a GPU it would be copied there once, however often it is passed. */
  par_value *here = par_ragged(flat, 3, offsets), *rows = par_upload(program, here);
  par_value *sums = NULL;
  par_options options = {.memory_limit = 1 << 20};
  if (par_call(program, "sums", &options, 1, (const par_value *const[]){rows}, &sums) != PAR_OK) return failed();

  size_t n;
  const double *numbers = par_value_data_f64(sums, &n);
  for (size_t i = 0; i < n; i++) printf("%g\n", numbers[i]);

  par_value_free(sums);
  par_value_free(rows);
  par_value_free(here);
  par_value_free(flat);
  par_program_free(program);
  par_context_free(context);
  return 0;
}
