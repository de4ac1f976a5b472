/* SPDX-License-Identifier: MIT */
/* LUKS2 metadata: what is read of a good text, a bad text for each rule of LUKS sheet section 10, edits that keep what
 * they do not know. */
#include "crypto/luks/luks2-meta.h"

#include "crypto/cipher/init.h"
#include "tests/unit/luks2-fixture.h"
#include "util/base/error.h"

static void setup(void)
{
    ck_assert(crypto_init(NULL));
}

static Luks2Meta *parse_edited(const char *find, const char *replace, GError **errp)
{
    Luks2Header h = luks2_test_header();
    g_autofree char *text = luks2_edit_text(LUKS2_GOOD_TEXT, find, replace);

    return luks2_meta_parse(text, &h, errp);
}

START_TEST(good_text_is_read)
{
    GError *err = NULL;
    g_autoptr(Luks2Meta) m = parse_edited(NULL, NULL, &err);
    Luks2Volume v;

    ck_assert_ptr_null(err);
    ck_assert_uint_eq(m->keyslot_count, 2);
    ck_assert(m->keyslots[0].id == 0 && m->keyslots[0].priority == LUKS2_PRIORITY_NORMAL);
    ck_assert(m->keyslots[0].kdf.alg == LUKS2_KDF_PBKDF2 && m->keyslots[0].kdf.iterations == 1000);
    ck_assert_ptr_null(m->keyslots[0].unusable);
    ck_assert(m->keyslots[1].id == 3 && m->keyslots[1].priority == LUKS2_PRIORITY_HIGH);
    ck_assert(m->keyslots[1].kdf.alg == LUKS2_KDF_ARGON2ID && m->keyslots[1].kdf.memory_kib == 65536 &&
              m->keyslots[1].kdf.passes == 4 && m->keyslots[1].kdf.lanes == 2);
    ck_assert(m->keyslots[1].area.cipher.mode == CIPHER_CBC && m->keyslots[1].area.cipher.ivgen == IVGEN_ESSIV);
    ck_assert_uint_eq(m->keyslots[1].area.offset, 290816);
    ck_assert(!m->keyslots[1].unusable == !!HAVE_ARGON2);
    ck_assert(m->token_count == 1 && m->tokens[0].keyslots == 8);
    ck_assert(luks2_meta_check_requirements(m, NULL));
    ck_assert(luks2_meta_volume(m, &v, NULL));
    ck_assert(v.cipher.cipher == CIPHER_AES_256 && v.cipher.mode == CIPHER_XTS && v.cipher.sector_bytes == 4096);
    ck_assert(v.segment->offset == 16777216 && v.segment->bytes == 0 && v.key_bytes == 64);
    ck_assert(v.digest->keyslots == 9 && v.digest->digest_bytes == 32);
}
END_TEST

/* The first @find becomes @replace; the message begins with "LUKS2 metadata". */
typedef struct Bad {
    const char *find, *replace, *message;
} Bad;

#define SALT33  "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'"
#define BYTES66 "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'"

static const Bad bad_texts[] = {
    /* the text */
    {"{'keyslots':{'0'", "{'keyslots':{/**/'0'", ": unexpected character at byte 13"},
    {"{'keyslots'", "[{'keyslots'", ": "},
    {"'x-future':true}}", "'x-future':true", ": "},
    {"true", "truf", ": "},
    {"'jwe'", "'jw\n'", ": a string does not end at byte 703"},
    {"'jwe'", "'jw\xff'", ": invalid UTF-8 at byte 706"},
    {"'jwe'", "'jw\\256'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\u12x4'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\u0000'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\udc00'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\ud83d'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\ud83d\\u0041'", ": a string with a bad escape at byte 703"},
    {"'jwe'", "'jw\\", ": a string with a bad escape at byte 703"},
    {"null", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", ": nested too deeply at byte 749"},
    /* sections */
    {"'keyslots':{", "'keyslot':{", ": keyslots is missing"},
    {"'tokens'", "'token'", ": tokens is missing"},
    {"'segments':{", "'segment':{", ": segments is missing"},
    {"'digests'", "'digest'", ": digests is missing"},
    {"'config'", "'conf'", ": config is missing"},
    {"'tokens':{", "'tokens':[],'x':{", ": tokens is not an object"},
    {"'0':{'type':'luks2'", "'00':{'type':'luks2'", ": keyslots has the id '00', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "'':{'type':'luks2'", ": keyslots has the id '', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "'-1':{'type':'luks2'", ": keyslots has the id '-1', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "' 1':{'type':'luks2'", ": keyslots has the id ' 1', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "'32':{'type':'luks2'", ": keyslots has the id '32', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "'\\u001b[2J':{'type':'luks2'", ": keyslots has the id '\\033[2J', which is not 0 to 31"},
    {"'0':{'type':'luks2'", "'1':5,'0':{'type':'luks2'", ": keyslots.1 is not an object"},
    /* key slots */
    {"'type':'luks2'", "'x':0", ": keyslots.0.type is missing"},
    {"'type':'luks2'", "'type':5", ": keyslots.0.type is not a string"},
    {"'key_size':64", "'key_size':'64'", ": keyslots.0.key_size is not a whole number"},
    {"'key_size':64", "'key_size':0", ": keyslots.0.key_size 0 is not 1 to 1024"},
    {"'key_size':64", "'key_size':-1", ": keyslots.0.key_size -1 is not 1 to 1024"},
    {"'key_size':64", "'key_size':1025", ": keyslots.0.key_size 1025 is not 1 to 1024"},
    {"'key_size':64", "'key_size':6.4", ": keyslots.0.key_size is not a whole number"},
    {"'key_size':64", "'key_size':128",
     ": keyslots.0.area.size 258048 is less than the 512000 bytes of its key material"},
    {"'priority':2", "'priority':3", ": keyslots.3.priority 3 is not 0 to 2"},
    {"'af':{", "'ag':{", ": keyslots.0.af is missing"},
    {"4000", "3999", ": keyslots.0.af.stripes 3999 is not 4000"},
    {"4000", "4294967295", ": keyslots.0.af.stripes 4294967295 is not 4000"},
    {"4000", "18446744073709555616", ": keyslots.0.af.stripes"},
    {"'area':{", "'aria':{", ": keyslots.0.area is missing"},
    {"'32768'", "32768", ": keyslots.0.area.offset is not a string"},
    {"'32768'", "'032768'", ": keyslots.0.area.offset '032768' is not a decimal number below 2^64"},
    {"'32768'", "'+32768'", ": keyslots.0.area.offset '+32768' is not a decimal number below 2^64"},
    {"'32768'", "'-1'", ": keyslots.0.area.offset '-1' is not a decimal number below 2^64"},
    {"'32768'", "'0x8000'", ": keyslots.0.area.offset '0x8000' is not a decimal number below 2^64"},
    {"'32768'", "''", ": keyslots.0.area.offset '' is not a decimal number below 2^64"},
    {"'32768'", "'18446744073709551616'",
     ": keyslots.0.area.offset '18446744073709551616' is not a decimal number below 2^64"},
    {"'32768'", "'28672'",
     ": keyslots.0.area of 258048 bytes at 28672 is not inside the key slot area, bytes 32768 to 16777216"},
    {"'32768'", "'16777216'",
     ": keyslots.0.area of 258048 bytes at 16777216 is not inside the key slot area, bytes 32768 to 16777216"},
    {"'32768'", "'16519169'",
     ": keyslots.0.area of 258048 bytes at 16519169 is not inside the key slot area, bytes 32768 to 16777216"},
    {"'32768'", "'18446744073709551615'",
     ": keyslots.0.area of 258048 bytes at 18446744073709551615 is not inside the key slot area, bytes 32768 to "
     "16777216"},
    {"'258048'", "'18446744073709551615'",
     ": keyslots.0.area of 18446744073709551615 bytes at 32768 is not inside the key slot area, bytes 32768 to "
     "16777216"},
    {"'258048'", "'0'", ": keyslots.0.area.size 0 is no room for key material"},
    {"'258048'", "'255999'", ": keyslots.0.area.size 255999 is less than the 256000 bytes of its key material"},
    {"'258048'", "'258049'", ": keyslots.0.area and keyslots.3.area overlap"},
    {"'290816'", "'32768'", ": keyslots.0.area and keyslots.3.area overlap"},
    {"plain64','key_size':64}", "plain64','key_size':0}", ": keyslots.0.area.key_size 0 is not 1 to 1024"},
    {"'kdf':{", "'kfd':{", ": keyslots.0.kdf is missing"},
    {"'iterations':1000", "'iterations':0", ": keyslots.0.kdf.iterations 0 is not 1 to 4294967295"},
    {"'iterations':1000", "'iterations':4294967296", ": keyslots.0.kdf.iterations 4294967296 is not 1 to 4294967295"},
    {"'salt':" LUKS2_ZERO_SALT, "'salt':''", ": keyslots.0.kdf.salt has 0 bytes, not 1 to 64"},
    {"'salt':" LUKS2_ZERO_SALT, "'salt':" BYTES66, ": keyslots.0.kdf.salt has 66 bytes, not 1 to 64"},
    {"'salt':" LUKS2_ZERO_SALT, "'salt':" BYTES66 "/", ": unexpected character"},
    {"'salt':" LUKS2_ZERO_SALT, "'salt':'AAA'", ": keyslots.0.kdf.salt is malformed: Base64 data is cut short"},
    {"'salt':" LUKS2_ZERO_SALT, "'salt':'A*A='",
     ": keyslots.0.kdf.salt is malformed: Base64 data contains invalid characters"},
    {"'time':4", "'time':0", ": keyslots.3.kdf.time 0 is not 1 to 4294967295"},
    {"'time':4", "'time':4294967295",
     ": keyslots.3.kdf.time 4294967295 over 65536 KiB of memory is more than this build will compute"},
    {"'memory':65536", "'memory':0", ": keyslots.3.kdf.memory 0 is not 1 to 4194304"},
    {"'memory':65536", "'memory':15", ": keyslots.3.kdf.memory 15 is less than 8 for each of 2 cpus"},
    {"'memory':65536", "'memory':4194305", ": keyslots.3.kdf.memory 4194305 is not 1 to 4194304"},
    {"'memory':65536", "'memory':1e9", ": keyslots.3.kdf.memory is not a whole number"},
    {"'cpus':2", "'cpus':0", ": keyslots.3.kdf.cpus 0 is not 1 to 64"},
    {"'cpus':2", "'cpus':65", ": keyslots.3.kdf.cpus 65 is not 1 to 64"},
    {"'cpus':2,'salt':" LUKS2_ZERO_SALT, "'cpus':2,'salt':'AAAA'", ": keyslots.3.kdf.salt has 3 bytes, less than 8"},
    {"'type':'luks2','key_size':64,'priority':2", "'type':'reencrypt','mode':'encrypt'",
     NULL}, /* another kind of slot is none of our business */
    {"'type':'luks2','key_size':64,'priority':2,'af':{'type':'luks1','stripes':4000,'hash':'sha512'},'area'",
     "'type':'other','area':{'offset':'1','size':'1'},'y'",
     ": keyslots.3.area of 1 bytes at 1 is not inside the key slot area, bytes 32768 to 16777216"},
    /* segments */
    {"'segments':{'0':{", "'segments':{},'x':{'0':{", ": segments is empty"},
    {"'segments':{'0':{", "'segments':{'1':{", ": segments has no 0 but a 1"},
    {"'type':'crypt'", "'kind':'crypt'", ": segments.0.type is missing"},
    {"'16777216'", "'16777217'", ": segments.0.offset 16777217 is not a multiple of 512"},
    {"'16777216'", "'9223372036854775808'", ": segments.0.offset 9223372036854775808 is too large"},
    {"'16777216'", "'16776704'", ": segments.0.offset 16776704 is inside the header, which ends at 16777216"},
    {"'dynamic'", "'0'",
     ": segments.0.size 0 is not a multiple of the sector size 4096 above zero, or ends beyond 2^63"},
    {"'dynamic'", "'512'",
     ": segments.0.size 512 is not a multiple of the sector size 4096 above zero, or ends beyond 2^63"},
    {"'dynamic'", "'18446744073709547520'",
     ": segments.0.size 18446744073709547520 is not a multiple of the sector size 4096 above zero, or ends beyond "
     "2^63"},
    {"'dynamic'", "'Dynamic'", ": segments.0.size 'Dynamic' is not a decimal number below 2^64"},
    {"'iv_tweak':'0'", "'iv_tweak':0", ": segments.0.iv_tweak is not a string"},
    {"'sector_size':4096", "'sector_size':0", ": segments.0.sector_size 0 is none of 512, 1024, 2048 and 4096"},
    {"'sector_size':4096", "'sector_size':768", ": segments.0.sector_size 768 is none of 512, 1024, 2048 and 4096"},
    {"'sector_size':4096", "'sector_size':8192", ": segments.0.sector_size 8192 is none of 512, 1024, 2048 and 4096"},
    {"'sector_size':4096}", "'sector_size':4096},'1':{'type':'linear','offset':'0','size':'dynamic'}",
     ": segments.0.size is 'dynamic' though another segment follows"},
    {"'sector_size':4096}", "'sector_size':4096,'flags':'backup'}", ": segments.0.flags is not a list"},
    {"'sector_size':4096}", "'sector_size':4096,'flags':[1]}", ": segments.0.flags has an item 0 that is not a string"},
    /* digests and tokens */
    {"'keyslots':['0','3']", "'keyslots':['0','4']", ": digests.0.keyslots names 4, which does not exist"},
    {"'keyslots':['0','3']", "'keyslots':[0,3]", ": digests.0.keyslots has an item 0 that is not a string"},
    {"'keyslots':['0','3']", "'keyslots':['0','x']", ": digests.0.keyslots has the id 'x', which is not 0 to 31"},
    {"'segments':['0']", "'segments':['1']", ": digests.0.segments names 1, which does not exist"},
    {"'segments':['0']", "'segments':[]", ": segments.0 has 0 digests, not one"},
    {"'digests':{",
     "'digests':{'1':{'type':'pbkdf2','keyslots':[],'segments':['0'],'hash':'sha256','iterations':1,"
     "'salt':'AAAA','digest':" LUKS2_ZERO_SALT "},",
     ": segments.0 has 2 digests, not one"},
    {"'digest':" LUKS2_ZERO_SALT, "'digest':'AAAA'", ": digests.0.digest has 3 bytes, less than 20"},
    {"'digest':" LUKS2_ZERO_SALT, "'x':1", ": digests.0.digest is missing"},
    {"'keyslots':['3']", "'keyslots':['5']", ": tokens.0.keyslots names 5, which does not exist"},
    {"'type':'clevis'", "'x':1", ": tokens.0.type is missing"},
    /* config */
    {"'json_size':'12288'", "'json_size':'12289'", ": config.json_size 12289 is not the 12288 bytes of the header"},
    {"'json_size':'12288'", "'json_size':12288", ": config.json_size is not a string"},
    {"'keyslots_size':'16744448'", "'keyslots_size':'16744449'",
     ": config.keyslots_size 16744449 is not a multiple of 4096 up to 128 MiB"},
    {"'keyslots_size':'16744448'", "'keyslots_size':'134221824'",
     ": config.keyslots_size 134221824 is not a multiple of 4096 up to 128 MiB"},
    {"'flags':['allow-discards']", "'requirements':[]", ": config.requirements is not an object"},
    {"'flags':['allow-discards']", "'requirements':{'mandatory':'x'}", ": config.requirements.mandatory is not a list"},
};

START_TEST(text_that_breaks_a_rule_is_refused_by_name)
{
    const Bad *b = &bad_texts[_i];
    g_autoptr(GError) err = NULL;
    g_autoptr(Luks2Meta) m = parse_edited(b->find, b->replace, &err);

    if (!b->message) {
        ck_assert_ptr_null(err);
        return;
    }
    ck_assert_ptr_null(m);
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_CORRUPT));
    ck_assert_msg(g_str_has_prefix(err->message, "LUKS2 metadata"), "%s", err->message);
    ck_assert_msg(g_str_has_prefix(err->message + strlen("LUKS2 metadata"), b->message), "%s, not %s", err->message,
                  b->message);
    ck_assert(!strpbrk(err->message, "\n\x1b"));
}
END_TEST

/* What we cannot do is told of the object that needs it; the rest of the header is fine. */
typedef struct Lacking {
    const char *find, *replace;
    int slot; /* of which it is told; -1: of the volume */
    const char *reason;
} Lacking;

static const Lacking lacking[] = {
    {"'hash':'sha256'}", "'hash':'whirlpool'}", 0, "Hash algorithm 'whirlpool' not supported"},
    {"'type':'luks1'", "'type':'luks9'", 0, "Splitter 'luks9' not supported"},
    {"'type':'raw'", "'type':'journal'", 0, "Area type 'journal' not supported"},
    {"'aes-xts-plain64','key_size'", "'capi:xts(aes)-plain64','key_size'", 0,
     "Unexpected cipher mode string format 'plain64'"},
    {"'aes-xts-plain64','key_size'", "'cipher_null','key_size'", 0, "Encryption 'cipher_null' not supported"},
    {"'aes-xts-plain64','key_size'", "'camellia-xts-plain64','key_size'", 0,
     "Algorithm 'camellia' with key size 64 bytes not supported"},
    {"'type':'pbkdf2'", "'type':'scrypt'", 0, "Key derivation 'scrypt' not supported"},
    {"'type':'luks2'", "'type':'luks3'", 0, "Keyslot type 'luks3' not supported"},
    {"'iv_tweak'", "'integrity':{'type':'hmac(sha256)'},'iv_tweak'", -1,
     "LUKS2 segment 0 with integrity protection is not supported"},
    {"'type':'crypt'", "'type':'hw-opal-crypt'", -1, "LUKS2 segment 0 of type 'hw-opal-crypt' is not supported"},
    {"'aes-xts-plain64','sector", "'aes-gcm-random','sector", -1, "Cipher mode 'gcm' not supported"},
    {"'aes-xts-plain64','sector", "'aes-xts-plain64be','sector", -1, "IV generator 'plain64be' not supported"},
    {"'digests':{'0':{'type':'pbkdf2'", "'digests':{'0':{'type':'sum'", -1,
     "LUKS2 digest 0 of type 'sum' is not supported"},
    {"'dynamic'", "'4096','flags':['backup-final']", -1, "LUKS2 volume that has backup segments only is not supported"},
};

START_TEST(what_is_lacking_is_told_where_it_is_needed)
{
    const Lacking *l = &lacking[_i];
    GError *err = NULL;
    g_autoptr(Luks2Meta) m = parse_edited(l->find, l->replace, &err);
    Luks2Volume v;

    ck_assert_msg(!err, "%s", err ? err->message : "");
    if (l->slot >= 0) {
        ck_assert_str_eq(m->keyslots[l->slot].unusable, l->reason);
        ck_assert(luks2_meta_volume(m, &v, NULL));
        return;
    }
    ck_assert(!luks2_meta_volume(m, &v, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
    assert_error(err, l->reason);
}
END_TEST

START_TEST(several_data_segments_are_refused)
{
    GError *err = NULL;
    g_autoptr(Luks2Meta) m = NULL;
    Luks2Volume v;

    m = parse_edited("'sector_size':4096}", "'sector_size':4096},'1':{'type':'linear','offset':'0','size':'4096'}",
                     &err);
    assert_error(err, "LUKS2 metadata: segments.0.size is 'dynamic' though another segment follows");
    m = parse_edited("'dynamic','iv_tweak':'0','encryption':'aes-xts-plain64','sector_size':4096}",
                     "'4096','iv_tweak':'0','encryption':'aes-xts-plain64','sector_size':4096},"
                     "'1':{'type':'linear','offset':'16781312','size':'dynamic'}",
                     &err);
    ck_assert_ptr_null(err);
    ck_assert(!luks2_meta_volume(m, &v, &err));
    assert_error(err, "LUKS2 volume of several segments is not supported");
}
END_TEST

START_TEST(a_mandatory_requirement_is_refused_by_name)
{
    static const struct {
        const char *name, *message;
    } rows[] = {
        {"online-reencrypt-v2", "LUKS2 volume with an unfinished reencryption (requirement 'online-reencrypt-v2') is "
                                "not supported; finish it with cryptsetup first"},
        {"x\\u001b", "LUKS2 volume needs 'x\\033', which is not supported"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *replace = g_strdup_printf("'requirements':{'mandatory':['%s']}", rows[i].name);
        GError *err = NULL;
        g_autoptr(Luks2Meta) m = parse_edited("'flags':['allow-discards']", replace, &err);

        ck_assert_ptr_null(err);
        ck_assert(!luks2_meta_check_requirements(m, &err));
        ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
        assert_error(err, rows[i].message);
    }
}
END_TEST

/* Many small values in an area of 4 MiB would take a hundred times that to parse. */
START_TEST(a_flood_of_values_is_refused_before_it_is_parsed)
{
    GString *s = g_string_new("{\"a\":[");
    Luks2Header h = luks2_test_header();
    GError *err = NULL;

    for (int i = 0; i <= LUKS2_MAX_JSON_VALUES; i++) {
        g_string_append(s, "0,");
    }
    ck_assert_ptr_null(luks2_meta_parse(s->str, &h, &err));
    ck_assert(g_str_has_prefix(err->message, "LUKS2 metadata: too many values at byte"));
    g_clear_error(&err);
    g_string_free(s, TRUE);
}
END_TEST

START_TEST(edits_keep_what_they_do_not_know)
{
    Luks2Header h = luks2_test_header();
    g_autoptr(Luks2Meta) m = parse_edited(NULL, NULL, NULL);
    g_autoptr(Luks2Meta) again = NULL;
    g_autofree char *text = NULL;
    Luks2Keyslot slot = m->keyslots[1];

    slot.id = 1;
    slot.area.offset = 1 << 20;
    slot.type = slot.unusable = NULL;
    luks2_meta_put_keyslot(m, &slot, 0);
    luks2_meta_remove_keyslot(m, 3);
    text = luks2_meta_text(m);
    again = luks2_meta_parse(text, &h, NULL);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(again->keyslot_count, 2);
    ck_assert(again->keyslots[1].id == 1 && again->keyslots[1].area.offset == 1 << 20);
    ck_assert(again->keyslots[1].kdf.memory_kib == 65536 && again->keyslots[1].af_hash == HASH_SHA512);
    ck_assert(again->keyslots[1].priority == LUKS2_PRIORITY_HIGH);
    ck_assert_uint_eq(again->digests[0].keyslots, 3);
    ck_assert_uint_eq(again->tokens[0].keyslots, 0);
    ck_assert_ptr_nonnull(strstr(text, "\"x-note\":{\"a\":[1,2]}"));
    ck_assert_ptr_nonnull(strstr(text, "\"jwe\":{\"deep\":[[{\"x\":null}]]}"));
    ck_assert_ptr_nonnull(strstr(text, "\"flags\":[\"allow-discards\"],\"x-future\":true"));
}
END_TEST

START_TEST(escapes_of_json_survive_an_edit)
{
    Luks2Header h = luks2_test_header();
    GError *err = NULL;
    g_autoptr(Luks2Meta) m = parse_edited("'jwe'", "'\\ud83d\\ude00\\u00e9\\n\\/\\\\\\u001f\\u0001'", &err);
    g_autofree char *text = NULL;

    ck_assert_ptr_null(err);
    text = luks2_meta_text(m);
    g_autoptr(Luks2Meta) again = luks2_meta_parse(text, &h, &err);
    ck_assert_ptr_null(err);
    ck_assert_ptr_nonnull(again);
    ck_assert_msg(strstr(text, "\xf0\x9f\x98\x80\xc3\xa9\\n/\\\\\\u001f\\u0001"), "%s", text);
}
END_TEST

START_TEST(cipher_texts_go_both_ways)
{
    static const struct {
        const char *text;
        uint32_t key_bytes;
    } rows[] = {{"aes-xts-plain64", 64},
                {"aes-cbc-essiv:sha256", 32},
                {"serpent-xts-plain", 32},
                {"twofish-cbc-plain64", 16},
                {"aes-ecb", 32}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        SectorCipherSpec spec;

        ck_assert(luks2_cipher_parse(rows[i].text, rows[i].key_bytes, 512, &spec, NULL));
        g_autofree char *text = luks2_cipher_text(&spec);
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

START_TEST(numbers_are_parsed_strictly)
{
    uint64_t v;

    ck_assert(luks2_parse_u64("18446744073709551615", &v) && v == UINT64_MAX);
    ck_assert(luks2_parse_u64("0", &v) && v == 0);
    ck_assert(!luks2_parse_u64("18446744073709551616", &v));
    ck_assert(!luks2_parse_u64("99999999999999999999999", &v));
    ck_assert(!luks2_parse_u64("1 ", &v));
    ck_assert(!luks2_parse_u64("1.0", &v));
    ck_assert(!luks2_parse_u64("", &v));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks2-meta");
    TCase *t = tcase_create("luks2-meta");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, good_text_is_read);
    tcase_add_loop_test(t, text_that_breaks_a_rule_is_refused_by_name, 0, G_N_ELEMENTS(bad_texts));
    tcase_add_loop_test(t, what_is_lacking_is_told_where_it_is_needed, 0, G_N_ELEMENTS(lacking));
    tcase_add_test(t, several_data_segments_are_refused);
    tcase_add_test(t, a_mandatory_requirement_is_refused_by_name);
    tcase_add_test(t, a_flood_of_values_is_refused_before_it_is_parsed);
    tcase_add_test(t, edits_keep_what_they_do_not_know);
    tcase_add_test(t, escapes_of_json_survive_an_edit);
    tcase_add_test(t, cipher_texts_go_both_ways);
    tcase_add_test(t, numbers_are_parsed_strictly);
    suite_add_tcase(s, t);
    return run_suite(s);
}
