/* SPDX-License-Identifier: MIT */
#include "tools/image-opts.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "crypto/secret/secret.h"
#include "tools/report.h"
#include "util/base/error.h"
#include "util/base/number.h"

bool img_take_open_option(ImgOpenArgs *args, int key, const char *arg)
{
    switch (key) {
    case 'f':
        args->format = arg;
        return true;
    case 'U':
        args->force_share = true;
        return true;
    case IMG_OPT_IMAGE_OPTS:
        args->image_opts = true;
        return true;
    default:
        g_assert(key == IMG_OPT_OBJECT);
        return img_add_object(arg);
    }
}

bool img_open_args_check(const ImgOpenArgs *args, const char *format_option)
{
    if (args->image_opts && args->format) {
        report_error("--image-opts and %s are mutually exclusive", format_option);
        return false;
    }
    return true;
}

static bool refuse_external; /* fixed before the first open */

void img_refuse_external_files(void)
{
    refuse_external = true;
}

BlockNode *coroutine_fn img_co_open_quiet(const ImgOpenArgs *args, const char *name, unsigned flags, GError **errp)
{
    g_autoptr(OptDict) options = NULL;
    BlockNode *node;

    if (args->image_opts) {
        /* A lone word would name a node that is open already; no tool has one. */
        options = optdict_parse_keyval(name, "file", errp);
        if (!options) {
            return NULL;
        }
    }
    flags |= args->cache_flags | (args->force_share ? BLOCK_OPEN_FORCE_SHARE : 0);
    flags |= args->aio_flags;
    if (refuse_external && !(flags & BLOCK_OPEN_NO_BACKING)) {
        flags |= BLOCK_OPEN_NO_EXTERNAL; /* who looks at the one file alone, as info does, opens no other */
    }
    node = block_co_open(options ? NULL : name, args->format, options, flags, errp);
    if (node && (flags & BLOCK_OPEN_RDWR) && !args->quiet && block_node_probed_raw(node)) {
        g_autofree char *warning = block_probed_raw_warning(node);

        report_notice(warning);
    }
    return node;
}

BlockNode *coroutine_fn img_co_open(const ImgOpenArgs *args, const char *name, unsigned flags)
{
    g_autoptr(GError) err = NULL;
    BlockNode *node = img_co_open_quiet(args, name, flags, &err);

    if (!node) {
        report_gerror(err, "Could not open '%s': ", name);
    }
    return node;
}

bool coroutine_fn img_co_close(BlockNode *node)
{
    if (!node) {
        return true;
    }
    g_autofree char *name = g_strdup(block_node_filename(node));
    int ret = block_co_close(node);

    if (ret < 0) {
        report_error("Could not close '%s': %s", name, g_strerror(-ret));
    }
    return ret >= 0;
}

void coroutine_fn img_node_cleanup(ImgNode *node)
{
    block_co_close(node);
}

bool img_add_object(const char *text)
{
    g_autoptr(GError) err = NULL;

    /* From here on a core dump could hold keys, or what they protect. */
    prctl(PR_SET_DUMPABLE, 0);
    if (!secret_add_object(text, &err)) {
        report_gerror(err, "%s", "");
        return false;
    }
    return true;
}

bool img_parse_cache(const char *what, const char *mode, unsigned *flags)
{
    if (!block_parse_cache_mode(mode, flags)) {
        report_error("Invalid %s option: %s", what, mode);
        return false;
    }
    return true;
}

bool img_parse_aio(const char *mode, unsigned *flags)
{
    unsigned wanted = *flags & BLOCK_OPEN_AIO_NATIVE;

    if (strcmp(mode, "native") == 0) {
        wanted = BLOCK_OPEN_AIO_NATIVE;
    } else if (strcmp(mode, "threads") == 0) {
        wanted = wanted ? wanted : BLOCK_OPEN_AIO_THREADS;
    } else if (strcmp(mode, "io_uring") != 0) {
        report_error("Invalid aio option: %s", mode);
        return false;
    }
    *flags = (*flags & ~(unsigned)(BLOCK_OPEN_AIO_NATIVE | BLOCK_OPEN_AIO_THREADS)) | wanted;
    return true;
}

bool img_parse_output(const char *cmd, const char *text, bool *json)
{
    *json = strcmp(text, "json") == 0;
    if (!*json && strcmp(text, "human") != 0) {
        report_usage(cmd, "--output expects 'human' or 'json' not '%s'", text);
        return false;
    }
    return true;
}

static bool report_bad_number(NumberResult r, const char *what, const char *text, int64_t min, int64_t max)
{
    if (r == NUMBER_INVALID) {
        report_error("Invalid %s specified: '%s'.", what, text);
    } else {
        report_error("Invalid %s specified. Must be between %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT ".", what, min,
                     max);
    }
    return false;
}

bool img_parse_number_in(const char *what, const char *text, int64_t min, int64_t max, int64_t *out)
{
    NumberResult r = number_parse_int(text, min, max, out);

    return r == NUMBER_OK || report_bad_number(r, what, text, min, max);
}

/* What is negative is out of range when it is a plain number, else no size at all. */
static NumberResult negative_result(const char *digits)
{
    return *digits && strspn(digits, "0123456789") == strlen(digits) ? NUMBER_RANGE : NUMBER_INVALID;
}

bool img_parse_size_in(const char *what, const char *text, int64_t min, int64_t max, int64_t *out)
{
    uint64_t value = 0;
    NumberResult r = text[0] == '-' ? negative_result(text + 1) : number_parse_size(text, &value);

    if (r == NUMBER_OK && (value > INT64_MAX || (int64_t)value < min || (int64_t)value > max)) {
        r = NUMBER_RANGE;
    }
    if (r != NUMBER_OK) {
        return report_bad_number(r, what, text, min, max);
    }
    *out = (int64_t)value;
    return true;
}

bool img_parse_size(const char *what, const char *text, int64_t *out)
{
    return img_parse_size_in(what, text, 0, INT64_MAX, out);
}

const BlockDriver *img_find_format(const char *format)
{
    const BlockDriver *drv = block_driver_find(format);

    if (!drv) {
        report_error("Unknown file format '%s'", format);
    }
    return drv;
}

bool img_add_create_options(char **all, const char *text)
{
    size_t len = strlen(text), commas = 0;

    while (commas < len && text[len - 1 - commas] == ',') {
        commas++;
    }
    if (len == 0 || text[0] == ',' || commas % 2 == 1) {
        report_error("Invalid option list: %s", text);
        return false;
    }
    char *merged = *all ? g_strconcat(*all, ",", text, NULL) : g_strdup(text);

    g_free(*all);
    *all = merged;
    return true;
}

/* The next element of a key=value text, doubled commas undone; NULL at the end. */
static char *next_element(const char **text)
{
    const char *p = *text;

    if (!p || !*p) {
        return NULL;
    }
    GString *element = g_string_new(NULL);

    for (; *p; p++) {
        if (*p == ',' && *++p != ',') {
            break; /* p is past the comma */
        }
        g_string_append_c(element, *p);
    }
    *text = p;
    return g_string_free(element, FALSE);
}

bool img_wants_option_help(const char *all)
{
    char *element;

    while ((element = next_element(&all))) {
        bool is_help = strcmp(element, "help") == 0 || strcmp(element, "?") == 0;

        g_free(element);
        if (is_help) {
            return true;
        }
    }
    return false;
}

const BlockDriver *img_find_creatable(const char *format)
{
    const BlockDriver *drv = img_find_format(format);

    if (drv && !block_driver_create_opts(drv)) {
        report_error("Format driver '%s' does not support image creation", format);
        return NULL;
    }
    return drv;
}

void img_print_option_help(const BlockDriver *drv, bool for_target)
{
    g_autofree OptDesc *all = block_driver_create_opts_all(drv);
    g_autofree char *lines = options_help(for_target ? all : block_driver_create_opts(drv));

    if (for_target) {
        printf("Supported options:\n%s", lines);
    } else {
        printf("Supported %s options:\n%s\n"
               "The protocol level may support further options.\n"
               "Specify the target filename to include those options.\n",
               block_driver_name(drv), lines);
    }
}

OptDict *img_parse_create_options(const BlockDriver *drv, const char *text, GError **errp)
{
    g_autofree OptDesc *table = block_driver_create_opts_all(drv);
    g_autoptr(OptDict) options = text ? optdict_parse_keyval(text, NULL, errp) : optdict_new();

    if (!options || !options_check(options, table, errp)) {
        return NULL;
    }
    return g_steal_pointer(&options);
}
