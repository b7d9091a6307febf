/* Values of Par in C: made, read, and given to calls.
 *
 * A par_value is a value that nothing changes; threads may use one at the same time. Whoever gets a pointer to a par_value from one of
 * these functions frees it by par_value_free; arguments stay the caller's.
 *
 * Functions that give a pointer give NULL if they cannot, functions that give a status one that is not PAR_OK. Then
 * par_error_message() says why. All functions may be called from every thread.
 */
#ifndef PAR_VALUE_H
#define PAR_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct par_value par_value;
typedef struct par_token par_token;

/* What became of a call. */
typedef int par_status;
#define PAR_OK 0
#define PAR_FAILED 1      /* a check of the program failed, or there was not enough memory */
#define PAR_REJECTED 2    /* the program has an error (par.h) */
#define PAR_UNSUPPORTED 3 /* the program is legal, but uses something that is not implemented (par.h) */
#define PAR_MISUSE 4      /* an argument does not fit */
#define PAR_CANCELLED 5   /* somebody used the token */
#define PAR_BUG 101       /* a mistake in Par */

/* Why the last function failed that this thread called, with the place in the program where it has one. The text is good until
 * this thread's next failure. A call whose handle is NULL because an earlier one failed leaves that one's message, if nobody asked for it. */
const char *par_error_message(void);
par_status par_error_status(void); /* and its status */

/* Limits of a call; NULL stands for none. */
typedef struct par_options {
  size_t threads;         /* 0: one for each processor */
  size_t memory_limit;    /* bytes that the call may hold besides its arguments; 0: what there is */
  const par_token *token; /* stops the call when it is used; may be NULL */
} par_options;

par_token *par_token_new(void);
void par_token_cancel(const par_token *token); /* from any thread; nothing takes it back */
void par_token_free(par_token *token);         /* after the calls that it was given to */

/* Per scalar type of Par, here T at the C type C:
 *
 *   par_T(x)                       a number
 *   par_array_T(data, rank, shape) an array of rank dimensions (at least one): a copy of the numbers at data, row by row. An array
 *                                  of equal rows also fits where rows of any length are expected
 *   par_value_T(value, &x)         reads a number
 *   par_value_data_T(value, &n)    all elements of an array, row by row, whatever its dimensions: they live as long as the value.
 *                                  n, their number, may be NULL
 *
 * par_f16 takes and gives the bits of a 16-bit float. */
#define PAR_SCALAR(T, C)                                                           \
  par_value *par_##T(C x);                                                         \
  par_value *par_array_##T(const C *data, size_t rank, const int64_t *shape);      \
  par_status par_value_##T(const par_value *value, C *x);                          \
  const C *par_value_data_##T(const par_value *value, size_t *n);
PAR_SCALAR(i8, int8_t)
PAR_SCALAR(i16, int16_t)
PAR_SCALAR(i32, int32_t)
PAR_SCALAR(i64, int64_t)
PAR_SCALAR(u8, uint8_t)
PAR_SCALAR(u16, uint16_t)
PAR_SCALAR(u32, uint32_t)
PAR_SCALAR(u64, uint64_t)
PAR_SCALAR(f16, uint16_t)
PAR_SCALAR(f32, float)
PAR_SCALAR(f64, double)
PAR_SCALAR(bool, bool)
#undef PAR_SCALAR

/* An array whose row i has the elements offsets[i] up to offsets[i + 1] of another array. There are rows + 1 offsets: the first is 0, they
 * do not decrease, and the last is the number of elements. The rows of the result may be elements of rows again. Of a tuple or a record of
 * arrays of one length it makes what fits where rows of tuples or records are expected. */
par_value *par_ragged(const par_value *elements, size_t rows, const int64_t *offsets);

/* Parts together. Where an array of tuples or records is expected, a tuple or a record of arrays of one length fits. */
par_value *par_tuple(size_t count, const par_value *const *parts);
par_value *par_record(size_t count, const char *const *names, const par_value *const *fields);
/* A constructor of a sum type, with its payload. */
par_value *par_constructor(const char *name, size_t count, const par_value *const *payload);

par_value *par_value_copy(const par_value *value); /* of the handle: the elements are shared */
void par_value_free(par_value *value);             /* NULL is no mistake */

/* Dimensions: of [][]f32 there are two. The size of one, or -1 if its rows have several. */
size_t par_value_rank(const par_value *value);
int64_t par_value_size(const par_value *value, size_t dimension);
/* Where the rows of a ragged dimension begin and end, as for par_ragged: one more than rows. They live as long as the value. */
const int64_t *par_value_offsets(const par_value *value, size_t dimension, size_t *rows);

/* The components of a tuple, the fields of a record in the order of their names, the payload of a constructor. A part of an array of
 * tuples or records is the array of these parts. */
size_t par_value_count(const par_value *value);
par_value *par_value_part(const par_value *value, size_t index);
par_value *par_value_field(const par_value *value, const char *name);

/* Texts that par_text_free frees: the name of the constructor, the value in Par's notation, its type. */
char *par_value_constructor(const par_value *value);
char *par_value_text(const par_value *value);
char *par_value_type(const par_value *value);
void par_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
