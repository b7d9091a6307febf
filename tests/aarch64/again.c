// Loaded into processes under `qemu-aarch64`. Programs for AArch64 that they start are started under it, too, which Linux does by itself only where
// somebody has told it to (binfmt_misc). Programs of this machine, as a cross compiler, are started as they are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { AARCH64 = 183 };

static int is_for_aarch64(const char *file) {
    unsigned char head[20] = {0};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return n == sizeof head && memcmp(head, "\177ELF", 4) == 0 && head[18] == AARCH64;
}

static size_t length(char *const *list) {
    size_t n = 0;
    while (list[n]) n++;
    return n;
}

// The environment without this library, which is none of this machine: qemu takes its name from QEMU_SET_ENV.
static char **environment(char *const *from) {
    char **to = malloc((length(from) + 1) * sizeof *to), **end = to;
    for (; *from; from++)
        if (strncmp(*from, "LD_PRELOAD=", 11) != 0) *end++ = *from;
    *end = NULL;
    return to;
}

static const char *qemu(const char *file, char *const *arguments, char ***out) {
    if (!is_for_aarch64(file)) {
        *out = (char **)arguments;
        return file;
    }
    size_t n = length(arguments);
    char **all = malloc((n + 2) * sizeof *all);
    all[0] = "qemu-aarch64";
    all[1] = (char *)file;
    memcpy(all + 2, arguments + 1, n * sizeof *all);
    *out = all;
    return all[0];
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const variables[]) {
    typedef int Spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
    Spawn *spawn = (Spawn *)dlsym(RTLD_NEXT, "posix_spawnp");
    char **all;
    const char *program = qemu(file, arguments, &all);
    return spawn(pid, program, actions, attributes, all, environment(variables));
}

int execvp(const char *file, char *const arguments[]) {
    typedef int Execute(const char *, char *const[]);
    Execute *execute = (Execute *)dlsym(RTLD_NEXT, "execvp");
    char **all;
    const char *program = qemu(file, arguments, &all);
    environ = environment(environ);
    return execute(program, all);
}
