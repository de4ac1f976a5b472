/* SPDX-License-Identifier: MIT */
/* Feeds a fuzz target the files named on the command line, and those in folders named there. So a corpus, with what a
 * fuzzer once found, is an ordinary test with any compiler and sanitizer. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static bool replay_file(const char *path)
{
    g_autofree char *data = NULL;
    gsize bytes;
    g_autoptr(GError) err = NULL;

    if (!g_file_get_contents(path, &data, &bytes, &err)) {
        fprintf(stderr, "%s\n", err->message);
        return false;
    }
    /* A copy of exactly the size: g_file_get_contents() adds a NUL that would hide a read past the end. */
    g_autofree uint8_t *exact = g_memdup2(data, bytes);
    printf("%s\n", path);
    fflush(stdout); /* names the file when the target crashes */
    LLVMFuzzerTestOneInput(exact, bytes);
    return true;
}

static int replay_folder(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    int count = 0;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        count += replay_file(file);
    }
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        count += g_file_test(argv[i], G_FILE_TEST_IS_DIR) ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus is a mistake of the build */
}
