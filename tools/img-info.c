/* SPDX-License-Identifier: MIT */
/* qemu-img info: facts about an image, or about each image of its backing chain.
 *
 * Images are opened without their key and without their backing file: looking at an image opens no file but its own. */
#include "tools/img-cmds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/error.h"
#include "util/base/number.h"

enum { OPT_OUTPUT = IMG_OPT_OWN };

static const CmdOption info_opts[] = {
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {'b', "backing-chain", NULL, "tell about the backing images too"},
    {'U', "force-share", NULL, "look even while another process writes"},
    {OPT_OUTPUT, "output", "human|json", "form of the output (default human)"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret (none is needed here)"},
    {0},
};

static const CmdHelp info_help = {
    .name = "info",
    .usage = "[-f FMT | --image-opts] [-b] [-U] [--output human|json] [--object OBJECT] FILE",
    .summary = "Show what an image is: format, sizes, backing file, and what its format has to tell.",
    .opts = info_opts,
};

typedef struct InfoArgs {
    ImgOpenArgs open;
    bool json, chain;
    const char *filename;
} InfoArgs;

/* What is shown of one node and what is below it, gathered once for both forms of output. */
typedef struct NodeFacts {
    BlockNode *node;       /* borrowed */
    int64_t size, on_disk; /* bytes; on_disk < 0 = not known */
    bool has_info;
    BlockInfo info;
    InfoTree *specific;     /* {type, data} in the order of output, or NULL; owned */
    struct NodeFacts *file; /* of the file child, or NULL; owned */
    struct NodeFacts *aux;  /* of the image's further file, or NULL; owned */
} NodeFacts;

static void node_facts_free(NodeFacts *f)
{
    if (f) {
        node_facts_free(f->file);
        node_facts_free(f->aux);
        info_free(f->specific);
        g_free(f);
    }
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NodeFacts, node_facts_free)

static NodeFacts *coroutine_fn gather_facts(BlockNode *node, GError **errp)
{
    g_autoptr(NodeFacts) f = g_new0(NodeFacts, 1);
    g_autoptr(GError) err = NULL;

    f->node = node;
    f->size = block_getlength(node);
    if (f->size < 0) {
        error_set_errno(errp, (int)-f->size, "Could not get the size of '%s'", block_node_filename(node));
        return NULL;
    }
    f->on_disk = block_co_allocated_bytes(node);
    f->has_info = block_co_get_info(node, &f->info) >= 0;
    f->specific = block_co_specific_info(node, &err);
    if (err) {
        g_propagate_error(errp, g_steal_pointer(&err));
        return NULL;
    }
    if (f->specific) {
        info_sort_hash_order(f->specific);
    }
    if (block_node_file(node)) {
        f->file = gather_facts(block_node_file(node), errp);
        if (!f->file) {
            return NULL;
        }
    }
    const char *name;
    BlockNode *aux = block_node_aux(node, &name);
    if (aux) {
        f->aux = gather_facts(aux, errp);
        if (!f->aux) {
            return NULL;
        }
    }
    return g_steal_pointer(&f);
}

static void add_backing(InfoTree *tree, const BlockNode *node)
{
    g_autofree char *path = block_node_backing_path(node);

    info_set_str(tree, "backing-filename", block_node_backing_name(node));
    info_set_str(tree, "full-backing-filename", path);
    info_set_str(tree, "backing-filename-format", block_node_backing_format(node));
}

static InfoTree *facts_to_tree(NodeFacts *f);

static void add_child(InfoTree *children, const char *name, NodeFacts *f)
{
    if (f) {
        InfoTree *child = info_object_new();

        info_set_str(child, "name", name);
        info_set(child, "info", facts_to_tree(f));
        info_append(children, child);
    }
}

/* The JSON form; takes what @f owns. */
static InfoTree *facts_to_tree(NodeFacts *f)
{
    InfoTree *tree = info_object_new(), *children = info_array_new();

    info_set_str(tree, "filename", block_node_filename(f->node));
    info_set_str(tree, "format", block_node_format(f->node));
    info_set_uint(tree, "virtual-size", (uint64_t)f->size);
    if (f->on_disk >= 0) {
        info_set_uint(tree, "actual-size", (uint64_t)f->on_disk);
    }
    if (block_node_encrypted(f->node)) {
        info_set_bool(tree, "encrypted", true);
    }
    if (f->has_info) {
        if (f->info.cluster_bytes > 0) {
            info_set_uint(tree, "cluster-size", (uint64_t)f->info.cluster_bytes);
        }
        info_set_bool(tree, "dirty-flag", f->info.is_dirty);
    }
    if (f->specific) {
        info_set(tree, "format-specific", g_steal_pointer(&f->specific));
    }
    add_backing(tree, f->node);
    const char *aux_name;
    block_node_aux(f->node, &aux_name);
    add_child(children, aux_name, f->aux);
    add_child(children, "file", f->file);
    info_set(tree, "children", children);
    return tree;
}

static void print_size(GString *out, int indent, const char *what, int64_t bytes)
{
    g_autofree char *human = number_format_size((uint64_t)bytes);

    g_string_append_printf(out, "%*s%s: %s (%" G_GINT64_FORMAT " bytes)\n", indent, "", what, human, bytes);
}

static void print_backing(GString *out, int indent, const BlockNode *node)
{
    const char *name = block_node_backing_name(node), *format = block_node_backing_format(node);
    g_autofree char *path = block_node_backing_path(node);

    if (!name) {
        return;
    }
    g_string_append_printf(out, "%*sbacking file: %s", indent, "", name);
    if (path && strcmp(path, name) != 0) {
        g_string_append_printf(out, " (actual path: %s)", path);
    }
    g_string_append_c(out, '\n');
    if (format) {
        g_string_append_printf(out, "%*sbacking file format: %s\n", indent, "", format);
    }
}

static void print_specific(GString *out, int indent, const InfoTree *specific)
{
    const InfoTree *data = specific ? info_get(specific, "data") : NULL;
    g_autoptr(GString) lines = g_string_new(NULL);

    if (data) {
        info_to_human(data, indent + 4, lines);
    }
    if (lines->len > 0) {
        g_string_append_printf(out, "%*sFormat specific information:\n%s", indent, "", lines->str);
    }
}

static void print_facts(GString *out, int indent, const NodeFacts *f, const char *path);

static void print_child(GString *out, int indent, const NodeFacts *f, const char *path, const char *name)
{
    if (f) {
        g_autofree char *child_path = g_strdup_printf("%s%s%s", path, strcmp(path, "/") == 0 ? "" : "/", name);

        g_string_append_printf(out, "%*sChild node '%s':\n", indent, "", child_path);
        print_facts(out, indent + 4, f, child_path);
    }
}

/* The human form at @indent columns. @path: where in the tree of nodes, "/" for the image itself. */
static void print_facts(GString *out, int indent, const NodeFacts *f, const char *path)
{
    bool is_protocol = !f->file && strcmp(path, "/") != 0;
    g_autofree char *on_disk = f->on_disk >= 0 ? number_format_size((uint64_t)f->on_disk) : g_strdup("unavailable");

    g_string_append_printf(out, "%*s%s: %s\n", indent, "", is_protocol ? "filename" : "image",
                           block_node_filename(f->node));
    g_string_append_printf(out, "%*s%s: %s\n", indent, "", is_protocol ? "protocol type" : "file format",
                           block_node_format(f->node));
    print_size(out, indent, is_protocol ? "file length" : "virtual size", f->size);
    g_string_append_printf(out, "%*sdisk size: %s\n", indent, "", on_disk);
    if (block_node_encrypted(f->node)) {
        g_string_append_printf(out, "%*sencrypted: yes\n", indent, "");
    }
    if (f->info.cluster_bytes > 0) {
        g_string_append_printf(out, "%*scluster_size: %" G_GINT64_FORMAT "\n", indent, "", f->info.cluster_bytes);
    }
    if (f->info.is_dirty) {
        g_string_append_printf(out, "%*scleanly shut down: no\n", indent, "");
    }
    print_backing(out, indent, f->node);
    print_specific(out, indent, f->specific);
    const char *aux_name;
    block_node_aux(f->node, &aux_name);
    print_child(out, indent, f->aux, path, aux_name);
    print_child(out, indent, f->file, path, "file");
}

typedef struct InfoOutput {
    GPtrArray *trees; /* JSON: an InfoTree an image */
    GString *text;    /* human */
} InfoOutput;

static void free_tree(void *tree)
{
    info_free(tree);
}

static void info_output_init(InfoOutput *o)
{
    o->trees = g_ptr_array_new_with_free_func(free_tree);
    o->text = g_string_new(NULL);
}

static void info_output_clear(InfoOutput *o)
{
    g_ptr_array_free(o->trees, TRUE);
    g_string_free(o->text, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(InfoOutput, info_output_clear)

/* Add one image to the output. On success *@next and *@next_format say where its backing image is, NULL if it has none.
 */
static bool coroutine_fn add_image(const ImgOpenArgs *open, const char *name, InfoOutput *out, char **next,
                                   char **next_format)
{
    g_autoptr(ImgNode) node = img_co_open(open, name, BLOCK_OPEN_NO_IO | BLOCK_OPEN_NO_BACKING);
    g_autoptr(GError) err = NULL;

    if (!node) {
        return false;
    }
    g_autoptr(NodeFacts) facts = gather_facts(node, &err);

    if (!facts) {
        report_gerror(err, "%s", "");
        return false;
    }
    if (out->text->len > 0) {
        g_string_append_c(out->text, '\n');
    }
    print_facts(out->text, 0, facts, "/");
    g_ptr_array_add(out->trees, facts_to_tree(facts));
    *next = block_node_backing_path(node);
    *next_format = g_strdup(block_node_backing_format(node));
    return true;
}

/* One file under two names is one file: chains that lead back to themselves must end. */
static char *file_identity(const char *name)
{
    g_autofree char *path = realpath(name, NULL);

    return g_strdup(path ? path : name);
}

static bool coroutine_fn add_chain(const InfoArgs *a, InfoOutput *out)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *name = g_strdup(a->filename), *format = g_strdup(a->open.format);
    ImgOpenArgs open = a->open;

    do {
        g_autofree char *next = NULL, *next_format = NULL;

        if (!g_hash_table_add(seen, file_identity(name))) {
            report_error("Backing file '%s' creates an infinite loop.", name);
            return false;
        }
        open.format = format;
        if (!add_image(&open, name, out, &next, &next_format)) {
            return false;
        }
        g_free(name);
        g_free(format);
        name = g_steal_pointer(&next);
        format = g_steal_pointer(&next_format);
        open.image_opts = false; /* a backing name is a name */
    } while (a->chain && name);
    return true;
}

/* One object, or with --backing-chain an array even of one. */
static void print_json(const InfoArgs *a, InfoOutput *out)
{
    g_autoptr(InfoTree) tree = a->chain ? info_array_new() : g_ptr_array_steal_index(out->trees, 0);

    while (out->trees->len > 0) {
        info_append(tree, g_ptr_array_steal_index(out->trees, 0));
    }
    info_sort_hash_order(tree);
    g_autofree char *text = info_to_json(tree, false);

    printf("%s\n", text);
}

static bool take_option(void *opaque, int opt, const char *arg)
{
    InfoArgs *a = opaque;

    switch (opt) {
    case 'b':
        a->chain = true;
        return true;
    case OPT_OUTPUT:
        return img_parse_output("info", arg, &a->json);
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

int coroutine_fn img_info(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_auto(InfoOutput) out;
    InfoArgs args = {0};

    info_output_init(&out);
    cmdline_init(&cl, &info_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (cmdline_operands(&cl) != 1) {
        return report_usage("info", "Expecting one image file name");
    }
    args.filename = cmdline_operand(&cl, 0);
    if (!img_open_args_check(&args.open, "--format") || !add_chain(&args, &out)) {
        return EXIT_FAILED;
    }
    if (args.json) {
        print_json(&args, &out);
    } else {
        fputs(out.text->str, stdout);
    }
    return EXIT_OK;
}
