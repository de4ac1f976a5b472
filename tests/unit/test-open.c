/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"

/* ---- names ----------------------------------------------------------------------------------------------------- */

START_CO_TEST(missing_file_is_named)
{
    ck_assert_open_error("/nonexistent/x", NULL, NULL, 0, "Could not open '/nonexistent/x': No such file or directory");
    ck_assert_open_error("file:/nonexistent/x", "raw", NULL, 0,
                         "Could not open '/nonexistent/x': No such file or directory");
}

START_CO_TEST(unknown_protocol_is_named_but_a_colon_behind_a_slash_is_none)
{
    ck_assert_open_error("foo:bar", NULL, NULL, 0, "Unknown protocol 'foo'");
    ck_assert_open_error("./foo:bar", NULL, NULL, 0, "Could not open './foo:bar': No such file or directory");
}

START_CO_TEST(file_that_cannot_be_an_image_is_refused_by_kind)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
    g_autofree char *expected = g_strdup_printf("'file' driver requires '%s' to be a regular file", fifo);

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_open_error(fifo, NULL, NULL, 0, expected); /* at once: nobody will ever write to the pipe */
    ck_assert_open_error("/tmp", NULL, NULL, 0, "'file' driver requires '/tmp' to be a regular file");
    ck_assert_open_error("", NULL, NULL, 0, "The 'file' block driver requires a file name");
}

START_CO_TEST(json_names_that_are_none_say_why)
{
    ck_assert_open_error("json:{}", NULL, NULL, 0, "Must specify either driver or file");
    ck_assert_open_error("json:{\"driver\":\"nope\"}", NULL, NULL, 0, "Unknown driver 'nope'");
    ck_assert_open_error("json:{\"driver\":\"raw\"}", NULL, NULL, 0, "A block device must be specified for \"file\"");
    ck_assert_open_error("json:{\"driver\":\"raw\",\"file\":\"x\"}", NULL, NULL, 0,
                         "Cannot find device='x' nor node-name='x'");
    g_autofree char *message = open_error("json:{bad", NULL, NULL, 0);
    ck_assert(g_str_has_prefix(message, "Could not parse the JSON options: "));
}

START_CO_TEST(three_spellings_open_the_same_image)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    g_autofree char *json = g_strdup_printf("json:{'driver':'raw','file':{'driver':'file','filename':'%s'}}", path);
    g_autofree char *opts = g_strdup_printf("driver=raw,file.filename=%s", path);
    BlockNode *nodes[] = {block_co_open(path, "raw", NULL, 0, NULL), block_co_open(json, NULL, NULL, 0, NULL),
                          open_opts(opts, 0)};

    for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
        ck_assert_ptr_nonnull(nodes[i]);
        ck_assert_str_eq(block_node_filename(nodes[i]), path);
        ck_assert_str_eq(block_node_format(nodes[i]), "raw");
        block_co_close(nodes[i]);
    }
}

START_CO_TEST(name_is_shown_as_json_when_options_matter)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", "0123456789", 10);
    g_autofree char *opts = g_strdup_printf("driver=raw,file.filename=%s,offset=512", path);
    g_autofree char *shown = g_strdup_printf(
        "json:{\"offset\": \"512\", \"driver\": \"raw\", \"file\": {\"driver\": \"file\", \"filename\": \"%s\"}}",
        path);
    BlockNode *node = open_opts(opts, 0);

    ck_assert_str_eq(block_node_filename(node), shown);
    block_co_close(node);
    node = open_opts("driver=null-co", 0);
    ck_assert_str_eq(block_node_filename(node), "null-co://");
    block_co_close(node);
    node = block_co_open("null-co://", NULL, NULL, 0, NULL);
    ck_assert_str_eq(block_node_filename(node), "null-co://");
    ck_assert_str_eq(block_node_format(node), "raw");
    block_co_close(node);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

START_CO_TEST(unknown_option_is_named_with_its_layer)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    struct {
        const char *opts, *error;
    } cases[] = {
        {"foo=1", "Block format 'raw' does not support the option 'foo'"},
        {"file.foo=1", "Block protocol 'file' doesn't support the option 'foo'"},
        {"backing.foo=1", "Driver doesn't support backing files"},
        {"backing=x", "Driver doesn't support backing files"},
        {"file.aio=foo", "invalid parameter value: foo"},
        {"file.aio=native", "aio=native was specified, but it requires cache.direct=on, which was not specified."},
        {"file.locking=foo", "invalid parameter value: foo"},
        {"discard=foo", "Invalid discard option"},
        {"detect-zeroes=foo", "invalid parameter value: foo"},
        {"read-only=foo", "Parameter 'read-only' expects 'on' or 'off'"},
        {"cache.direct=foo", "Parameter 'cache.direct' expects 'on' or 'off'"},
        {"node-name=1x", "Invalid node-name: '1x'"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *opts = g_strdup_printf("driver=raw,file.filename=%s,%s", path, cases[i].opts);
        ck_assert_open_error(NULL, NULL, opts, 0, cases[i].error);
    }
}

START_CO_TEST(options_known_to_every_node_are_taken)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    g_autofree char *opts = g_strdup_printf("driver=raw,node-name=n0,read-only=on,auto-read-only=on,cache.no-flush=on,"
                                            "discard=unmap,detect-zeroes=unmap,force-share=on,file.aio=threads,"
                                            "file.locking=on,file.node-name=n1,file.filename=%s",
                                            path);
    BlockNode *node = open_opts(opts, 0);

    ck_assert(block_node_read_only(node));
    ck_assert_int_eq(node->detect_zeroes, BLOCK_DETECT_ZEROES_UNMAP);
    ck_assert(node->flags & BLOCK_OPEN_UNMAP);
    ck_assert(node->file->flags & BLOCK_OPEN_NO_FLUSH);
    block_co_close(node);
}

START_CO_TEST(writer_cannot_have_a_read_only_node_below)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    g_autofree char *top = g_strdup_printf("driver=raw,file.filename=%s,read-only=on", path);
    g_autofree char *below = g_strdup_printf("driver=raw,file.filename=%s,file.read-only=on", path);
    g_autofree char *shared = g_strdup_printf("driver=raw,file.filename=%s,force-share=on", path);

    ck_assert_open_error(NULL, NULL, top, BLOCK_OPEN_RDWR, "Block node is read-only");
    ck_assert_open_error(NULL, NULL, below, BLOCK_OPEN_RDWR, "Block node is read-only");
    ck_assert_open_error(NULL, NULL, shared, BLOCK_OPEN_RDWR, "force-share=on can only be used with read-only images");
}

START_TEST(cache_modes_set_and_clear_their_flags)
{
    unsigned flags = BLOCK_OPEN_RDWR | BLOCK_OPEN_NO_FLUSH;

    ck_assert(block_parse_cache_mode("none", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR | BLOCK_OPEN_DIRECT);
    ck_assert(block_parse_cache_mode("directsync", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR | BLOCK_OPEN_DIRECT | BLOCK_OPEN_WRITETHROUGH);
    ck_assert(block_parse_cache_mode("writethrough", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR | BLOCK_OPEN_WRITETHROUGH);
    ck_assert(block_parse_cache_mode("unsafe", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR | BLOCK_OPEN_NO_FLUSH);
    ck_assert(block_parse_cache_mode("writeback", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR);
    ck_assert(!block_parse_cache_mode("fast", &flags));
    ck_assert_uint_eq(flags, BLOCK_OPEN_RDWR);
}
END_TEST

START_CO_TEST(nodes_nest_only_so_deep)
{
    g_autoptr(GString) opts = g_string_new("driver=raw");
    g_autoptr(GString) prefix = g_string_new("file.");

    for (int i = 0; i < 20; i++) {
        g_string_append_printf(opts, ",%sdriver=raw", prefix->str);
        g_string_append(prefix, "file.");
    }
    g_string_append_printf(opts, ",%sfilename=/dev/null", prefix->str);
    ck_assert_open_error(NULL, NULL, opts->str, 0, "Nodes are nested more than 8 deep");
}

/* ---- backing paths --------------------------------------------------------------------------------------------- */

START_TEST(backing_names_are_relative_to_the_overlay)
{
    struct {
        const char *overlay, *backing, *path;
    } cases[] = {
        {"a.q", "b.q", "b.q"},          {"d/a.q", "b.q", "d/b.q"},     {"/d/e/a.q", "../b.q", "/d/e/../b.q"},
        {"d/a.q", "/abs", "/abs"},      {"d/a.q", "nbd:x", "nbd:x"},   {"d/a.q", "json:{}", "json:{}"},
        {"file:d/a.q", "b.q", "d/b.q"}, {"d/a.q", "./x:y", "d/./x:y"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = block_backing_path_from(cases[i].overlay, cases[i].backing);
        ck_assert_str_eq(path, cases[i].path);
    }
}
END_TEST

/* ---- backing chains -------------------------------------------------------------------------------------------- */

static char *new_overlay(const char *dir, const char *name, const char *backing, const char *format)
{
    char *path = g_build_filename(dir, name, NULL);
    g_autofree char *text = g_strdup_printf("size=1M,backing_file=%s,backing_fmt=%s", backing, format);
    g_autoptr(OptDict) opts = optdict_parse_keyval(text, NULL, NULL);
    GError *err = NULL;

    ck_assert_msg(block_co_create("qcow2", path, opts, &err), "%s", err ? err->message : "?");
    return path;
}

START_CO_TEST(backing_chain_is_opened_read_only_relative_to_each_overlay)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *base = scratch_file(dir, "base", "data of the base", 16);
    g_autofree char *mid G_GNUC_UNUSED = new_overlay(dir, "mid", "base", "raw");
    g_autofree char *top = new_overlay(dir, "top", "mid", "qcow2");
    BlockNode *node = block_co_open(top, "qcow2", NULL, BLOCK_OPEN_RDWR, NULL);
    char buf[16];

    ck_assert_ptr_nonnull(node);
    ck_assert_str_eq(block_node_filename(block_node_backing(block_node_backing(node))), base);
    ck_assert(block_node_read_only(block_node_backing(node)));
    ck_assert_int_eq(block_co_pread(node, 0, buf, 16, 0), 0);
    ck_assert(memcmp(buf, "data of the base", 16) == 0);
    block_co_close(node);
}

START_CO_TEST(missing_link_of_a_chain_is_told_once_per_layer)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *mid G_GNUC_UNUSED = new_overlay(dir, "mid", "gone", "raw");
    g_autofree char *top = new_overlay(dir, "top", "mid", "qcow2");
    g_autofree char *expected = g_strdup_printf(
        "Could not open backing file: Could not open backing file: Could not open '%s/gone': No such file "
        "or directory",
        dir);

    ck_assert_open_error(top, "qcow2", NULL, 0, expected);
    BlockNode *node = block_co_open(top, "qcow2", NULL, BLOCK_OPEN_NO_BACKING, NULL);
    ck_assert_ptr_nonnull(node); /* the top layer alone is fine */
    block_co_close(node);
}

START_CO_TEST(chain_that_loops_is_an_error)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *a = new_overlay(dir, "a", "b", "qcow2");
    g_autofree char *b G_GNUC_UNUSED = new_overlay(dir, "b", "a", "qcow2");
    g_autofree char *self = new_overlay(dir, "self", "self", "qcow2");
    g_autofree char *a_error = open_error(a, "qcow2", NULL, 0);
    g_autofree char *self_error = open_error(self, "qcow2", NULL, 0);

    ck_assert(strstr(a_error, "Backing chain loops: ") != NULL);
    ck_assert(strstr(self_error, "Backing chain loops: ") != NULL);
}

START_CO_TEST(backing_file_can_be_replaced_or_left_out_by_options)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *other = scratch_file(dir, "other", "another base....", 16);
    g_autofree char *top = new_overlay(dir, "top", "gone", "raw");
    g_autofree char *replaced =
        g_strdup_printf("driver=qcow2,file.filename=%s,backing.driver=raw,backing.file.filename=%s", top, other);
    g_autofree char *none = g_strdup_printf("driver=qcow2,file.filename=%s,backing=", top);
    g_autofree char *json =
        g_strdup_printf("json:{\"driver\":\"qcow2\",\"file.filename\":\"%s\",\"backing\":null}", top);
    BlockNode *node = open_opts(replaced, 0);
    char buf[16];

    ck_assert_int_eq(block_co_pread(node, 0, buf, 16, 0), 0);
    ck_assert(memcmp(buf, "another base....", 16) == 0);
    block_co_close(node);
    node = open_opts(none, 0);
    ck_assert_int_eq(block_co_pread(node, 0, buf, 16, 0), 0);
    ck_assert(buffer_is_zero(buf, 16));
    block_co_close(node);
    node = block_co_open(json, NULL, NULL, 0, NULL);
    ck_assert_ptr_nonnull(node);
    ck_assert_ptr_null(block_node_backing(node));
    block_co_close(node);
}

START_CO_TEST(options_of_a_backing_file_that_is_not_wanted_are_refused)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *top = new_overlay(dir, "top", "gone", "raw");
    struct {
        const char *opts;
        unsigned flags;
        const char *error;
    } cases[] = {
        {"backing.driver=raw", BLOCK_OPEN_NO_BACKING,
         "Block format 'qcow2' does not support the option 'backing.driver'"},
        {"backing=x", BLOCK_OPEN_NO_BACKING, "Block format 'qcow2' does not support the option 'backing'"},
        {"backing=,backing.driver=raw", 0, "Block format 'qcow2' does not support the option 'backing.driver'"},
        {"backing=x", 0, "Could not open backing file: Cannot find device='x' nor node-name='x'"},
        {"backing=x,backing.driver=raw", 0,
         "Could not open backing file: Cannot reference an existing block device with additional options or a new "
         "filename"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *opts = g_strdup_printf("driver=qcow2,file.filename=%s,%s", top, cases[i].opts);
        ck_assert_open_error(NULL, NULL, opts, cases[i].flags, cases[i].error);
    }
}

START_CO_TEST(images_that_name_other_files_can_be_refused)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *base G_GNUC_UNUSED = scratch_file(dir, "base", NULL, 0);
    g_autofree char *top = new_overlay(dir, "top", "base", "raw");
    g_autofree char *plain = g_build_filename(dir, "plain", NULL);
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1M", NULL, NULL);

    ck_assert_open_error(top, "qcow2", NULL, BLOCK_OPEN_NO_EXTERNAL,
                         "Image names the backing file 'base', and external files are not allowed");
    ck_assert(block_co_create("qcow2", plain, opts, NULL));
    BlockNode *node = block_co_open(plain, "qcow2", NULL, BLOCK_OPEN_NO_EXTERNAL, NULL);
    ck_assert_ptr_nonnull(node);
    block_co_close(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("open");
    TCase *tc = tcase_create("open");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, missing_file_is_named);
    tcase_add_test(tc, unknown_protocol_is_named_but_a_colon_behind_a_slash_is_none);
    tcase_add_test(tc, file_that_cannot_be_an_image_is_refused_by_kind);
    tcase_add_test(tc, json_names_that_are_none_say_why);
    tcase_add_test(tc, three_spellings_open_the_same_image);
    tcase_add_test(tc, name_is_shown_as_json_when_options_matter);
    tcase_add_test(tc, unknown_option_is_named_with_its_layer);
    tcase_add_test(tc, options_known_to_every_node_are_taken);
    tcase_add_test(tc, writer_cannot_have_a_read_only_node_below);
    tcase_add_test(tc, cache_modes_set_and_clear_their_flags);
    tcase_add_test(tc, nodes_nest_only_so_deep);
    tcase_add_test(tc, backing_names_are_relative_to_the_overlay);
    tcase_add_test(tc, backing_chain_is_opened_read_only_relative_to_each_overlay);
    tcase_add_test(tc, missing_link_of_a_chain_is_told_once_per_layer);
    tcase_add_test(tc, chain_that_loops_is_an_error);
    tcase_add_test(tc, backing_file_can_be_replaced_or_left_out_by_options);
    tcase_add_test(tc, options_of_a_backing_file_that_is_not_wanted_are_refused);
    tcase_add_test(tc, images_that_name_other_files_can_be_refused);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
