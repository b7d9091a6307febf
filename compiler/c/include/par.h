/* The compiler of Par in C: programs compiled from text, and their entry points called.
 *
 *   par_context *context = par_context_new("cpu", NULL);
 *   par_program *program = par_compile(context, "entry twice (xs: []f32): []f32 = map (2 *) xs", NULL, NULL);
 *   par_value *xs = par_array_f32((float[]){1, 2}, 1, (int64_t[]){2}), *ys;
 *   if (par_call(program, "twice", NULL, 1, (const par_value *const[]){xs}, &ys) != PAR_OK) puts(par_error_message());
 *
 * Values and errors are those of par_value.h; a NULL handle where one is asked for is a mistake that is reported, too. Several contexts and programs may live in one process, and threads may call one
 * program at the same time. Link with -lpar_c.
 */
#ifndef PAR_H
#define PAR_H

#include "par_value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct par_context par_context;
typedef struct par_program par_program;

/* How programs are compiled and run. The back end: "cpu", "cuda", "auto" (a GPU if there is one), or one of the reference interpreters
 * "interp" and "flat-interp". Limits of the context hold for all calls of its programs that set none themselves; the token is not
 * looked at. options may be NULL. */
par_context *par_context_new(const char *backend, const par_options *options);
void par_context_free(par_context *context); /* its programs stay */

/* Compiles a text, which messages call by the name (NULL: program.par), and beside which imported files are looked for; or a file. If
 * the program is wrong par_error_message() has all its diagnostics, with the lines they are about. The token of the options stops
 * the compiler; options may be NULL. */
par_program *par_compile(const par_context *context, const char *text, const char *name, const par_options *options);
par_program *par_compile_file(const par_context *context, const char *path, const par_options *options);
void par_program_free(par_program *program);

/* The entry points: how many, and the signature of one in Par's notation, which par_text_free frees. */
size_t par_program_entries(const par_program *program);
char *par_program_entry(const par_program *program, size_t index);

/* Calls an entry point. options may be NULL. */
par_status par_call(const par_program *program, const char *entry, const par_options *options, size_t count,
                    const par_value *const *args, par_value **result);

/* A value with elements on the GPU, if that is what the program runs on: arguments of several calls, also of other programs, are copied
 * there once. */
par_value *par_upload(const par_program *program, const par_value *value);

/* The value that a text in Par's notation says, for a parameter of an entry point, which are numbered from 0. */
par_value *par_read(const par_program *program, const char *entry, size_t parameter, const char *text);

#ifdef __cplusplus
}
#endif
#endif
