/* Uses the library that the tests make of STATS in build.rs; every function of the header's values is called. */
#include "stats.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "line %d: " #condition "\n%s\n", __LINE__, par_error_message()); \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

static par_value *vector(const double *xs, int64_t n) { return par_array_f64(xs, 1, &n); }

static void numbers(void) {
  double xs[] = {3, 4}, norm = 0;
  par_value *v = vector(xs, 2);
  CHECK(stats_norm(NULL, v, &norm) == PAR_OK && norm == 5);
  par_value_free(v);
  int64_t least = 0, most = 0;
  int32_t is[] = {4, -2, 9};
  int64_t shape[] = {3};
  /* Narrower numbers fit if their values do. */
  v = par_array_i32(is, 1, shape);
  CHECK(stats_range(NULL, v, &least, &most) == PAR_OK && least == -2 && most == 9);
  par_value_free(v);
}

/* A number and an array of two, there and back. */
#define THERE_AND_BACK(T, C)                                            \
  do {                                                                  \
    C there[] = {1, 0}, x = 7;                                          \
    int64_t n = 2;                                                      \
    size_t count = 0;                                                   \
    par_value *number = par_##T(there[0]), *array = par_array_##T(there, 1, &n); \
    CHECK(par_value_##T(number, &x) == PAR_OK && x == there[0]);        \
    const C *back = par_value_data_##T(array, &count);                  \
    CHECK(back && count == 2 && !memcmp(back, there, sizeof there));    \
    char *type = par_value_type(number);                                \
    CHECK(!strcmp(type, #T) && par_value_##T(array, &x) == PAR_MISUSE); \
    par_text_free(type);                                                \
    par_value_free(array);                                              \
    par_value_free(number);                                             \
  } while (0)

static void scalars(void) {
  THERE_AND_BACK(i8, int8_t);
  THERE_AND_BACK(i16, int16_t);
  THERE_AND_BACK(i32, int32_t);
  THERE_AND_BACK(i64, int64_t);
  THERE_AND_BACK(u8, uint8_t);
  THERE_AND_BACK(u16, uint16_t);
  THERE_AND_BACK(u32, uint32_t);
  THERE_AND_BACK(u64, uint64_t);
  THERE_AND_BACK(f16, uint16_t);
  THERE_AND_BACK(f32, float);
  THERE_AND_BACK(f64, double);
  THERE_AND_BACK(bool, bool);
}

static void rows(void) {
  double xs[] = {1, 2, 3, 4, 5, 6};
  int64_t offsets[] = {0, 2, 2, 6}, shape[] = {2, 3};
  par_value *flat = vector(xs, 6), *ragged = par_ragged(flat, 3, offsets), *sums = NULL;
  CHECK(ragged != NULL);
  CHECK(stats_prefixes(NULL, ragged, &sums) == PAR_OK);
  size_t n = 0, count = 0;
  const double *data = par_value_data_f64(sums, &n);
  const int64_t *found = par_value_offsets(sums, 1, &count);
  CHECK(n == 6 && data[1] == 3 && data[5] == 18 && count == 3 && !memcmp(found, offsets, sizeof offsets));
  CHECK(par_value_rank(sums) == 2 && par_value_size(sums, 0) == 3 && par_value_size(sums, 1) == -1);
  par_value_free(sums);
  par_value *equal = par_array_f64(xs, 2, shape);
  CHECK(stats_prefixes(NULL, equal, &sums) == PAR_OK);
  char *text = par_value_text(sums), *type = par_value_type(sums);
  CHECK(!strcmp(text, "[[1.0f64, 3.0f64, 6.0f64], [4.0f64, 9.0f64, 15.0f64]]") && strstr(type, "f64"));
  par_text_free(text);
  par_text_free(type);
  par_value_free(sums);
  int64_t wrong[] = {0, 4, 2, 6};
  CHECK(par_ragged(flat, 3, wrong) == NULL && par_error_status() == PAR_MISUSE);
  CHECK(strstr(par_error_message(), "not decrease"));
  par_value_free(equal);
  par_value_free(ragged);
  par_value_free(flat);
}

static void structures(void) {
  double xs[] = {1, 2}, ys[] = {10, 20};
  par_value *columns[] = {vector(xs, 2), vector(ys, 2)};
  const char *names[] = {"x", "y"};
  par_value *points = par_record(2, names, (const par_value *const *)columns), *moved = NULL;
  CHECK(stats_swap(NULL, points, &moved) == PAR_OK && par_value_count(moved) == 2);
  par_value *x = par_value_field(moved, "x");
  CHECK(par_value_data_f64(x, NULL)[1] == 20);
  CHECK(par_value_field(moved, "z") == NULL);
  par_value_free(x);
  par_value_free(moved);
  par_value_free(points);
  par_value *pair = par_tuple(2, (const par_value *const *)columns);
  CHECK(pair && par_value_count(pair) == 2);
  par_value_free(pair);
  par_value_free(columns[0]);
  par_value_free(columns[1]);
  par_value *radius = par_f64(2), *copy = par_value_copy(radius);
  par_value *circle = par_constructor("circle", 1, (const par_value *const *)&radius), *larger = NULL;
  CHECK(stats_grow(NULL, circle, &larger) == PAR_OK);
  char *name = par_value_constructor(larger);
  par_value *part = par_value_part(larger, 0);
  double r = 0;
  CHECK(!strcmp(name, "circle") && par_value_f64(part, &r) == PAR_OK && r == 4);
  CHECK(par_value_f32(part, NULL) == PAR_MISUSE);
  par_text_free(name);
  par_value_free(part);
  par_value_free(larger);
  par_value_free(circle);
  circle = stats_grow_read(0, "#box 1 2");
  CHECK(circle && stats_grow(NULL, circle, &larger) == PAR_OK && par_value_count(larger) == 2);
  par_value_free(larger);
  par_value_free(circle);
  CHECK(stats_grow_read(0, "#square 1") == NULL && stats_grow_read(7, "1") == NULL);
  par_value_free(copy);
  par_value_free(radius);
}

static void failures(void) {
  double xs[] = {1, 2}, x = 7;
  par_value *v = vector(xs, 2);
  CHECK(stats_pick(NULL, v, 2, &x) == PAR_FAILED && x == 7);
  CHECK(strstr(par_error_message(), "index 2 is outside [0,2)") && strstr(par_error_message(), "stats.par"));
  CHECK(stats_pick(NULL, NULL, 0, &x) == PAR_MISUSE);
  CHECK(stats_norm(NULL, v, NULL) == PAR_MISUSE);
  par_options options = {.threads = 1, .memory_limit = 1000};
  CHECK(stats_total(&options, 100000, &x) == PAR_FAILED && strstr(par_error_message(), "out of memory"));
  par_token *token = par_token_new();
  par_token_cancel(token);
  options = (par_options){.token = token};
  CHECK(stats_total(&options, 10, &x) == PAR_CANCELLED);
  CHECK(stats_total(NULL, 10, &x) == PAR_OK && x == 165);
  par_token_free(token);
  par_value_free(v);
  par_value_free(NULL);
  int64_t negative = -1;
  CHECK(par_array_f64(xs, 1, &negative) == NULL && par_array_f64(xs, 0, NULL) == NULL);
}

static void *many(void *unused) {
  (void)unused;
  for (int i = 0; i < 20; i++) numbers(), failures();
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  /* The first calls load the program, all at once. */
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, many, NULL));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  scalars();
  rows();
  structures();
  failures();
  puts("all well");
  return 0;
}
