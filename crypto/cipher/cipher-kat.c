/* SPDX-License-Identifier: MIT */
/* Known answers for the rows of the cipher table: 512 bytes of the pattern 00..ff 00..ff, compared by SHA-256.
 *
 * The xts lines of aes-128 and aes-256 are vectors 4 and 10 of IEEE 1619-2007; the others come from
 * tests/unit/vectors/make-cipher-kat.py, which takes the block ciphers from OpenSSL and libgcrypt. Each answer is asked
 * for as a run of several sectors, apart and in place, and back. */
#include "crypto/cipher/cipher-int.h"

#include <string.h>

#include "crypto/hash/hash.h"
#include "util/base/error.h"

enum { KAT_BYTES = 512, KAT_SECTORS = 5 };

typedef struct CipherKat {
    CipherAlg alg;
    CipherMode mode;
    uint8_t iv0; /* the other IV bytes are zero */
    const char *sha256;
} CipherKat;

/* clang-format off */
static const CipherKat kats[] = {
    {CIPHER_AES_128, CIPHER_ECB, 0xff,
     "436a6df8c7a2ce94c0e14ee85dba4e04dba51c33c94a37d47b58712a209605a2"},
    {CIPHER_AES_128, CIPHER_CBC, 0xff,
     "a319525f5af7d020ff3aa66bf7a65f06e44569df0c3dfc0688ed27ce7e7dff83"},
    {CIPHER_AES_128, CIPHER_XTS, 0x0,
     "ebee4d64dd2395bb2d6a2d37a0a48ecb2bf4913cfc99d27c2214f2f4144715ea"},
    {CIPHER_AES_128, CIPHER_CTR, 0xff,
     "cb2e8f2a13ea2870a28998fc6fc422a327657847236d2d609a08c0671d1436b0"},
    {CIPHER_AES_192, CIPHER_ECB, 0xff,
     "d273dcc8eafc32a3d8b790826d6079275522bf5c47f7adf2f3eecd075f3f7f2e"},
    {CIPHER_AES_192, CIPHER_CBC, 0xff,
     "98f1dd50862f99a11d05f0b7b8cfd5e08cf291f75b33e48869d1753ad5a57a22"},
    {CIPHER_AES_192, CIPHER_XTS, 0xff,
     "d36d9973e098a6402b673bdf62dcac34a68f128808f2c6c95a7204fefe2bebbc"},
    {CIPHER_AES_192, CIPHER_CTR, 0xff,
     "7e7677007661993c49c199e7df58f980fb55bd0e2a9295ac21274f341180ca8f"},
    {CIPHER_AES_256, CIPHER_ECB, 0xff,
     "7b10381127a35d2ac5ad7290973890fedc3b58c4e0d9ab77eed1046d3bd5e3f2"},
    {CIPHER_AES_256, CIPHER_CBC, 0xff,
     "7578f687590b1afccdce621e1c2fe38b293b661c2369605427cc69a5a4b58a64"},
    {CIPHER_AES_256, CIPHER_XTS, 0xff,
     "e97e974fa393af794f7a4684395814cf820de60a01eaec677d87b452e316b364"},
    {CIPHER_AES_256, CIPHER_CTR, 0xff,
     "ef5d8fc932bf17c4c394bd8a8701bbbd9904345f136349e2f12698597df75805"},
    {CIPHER_SERPENT_128, CIPHER_ECB, 0xff,
     "2f20a0950fc636a92d8d9e30133781f5ae46ea0518c660f6252393a2dfed43a7"},
    {CIPHER_SERPENT_128, CIPHER_CBC, 0xff,
     "985341d38c1a99433fdd5599ab0668927113d38f2424e062ff21a5b37fd68934"},
    {CIPHER_SERPENT_128, CIPHER_XTS, 0xff,
     "54fe80edbb6e1afb340da5d74d47ec1a72513ad4afb51d1553be9268b4e178a2"},
    {CIPHER_SERPENT_128, CIPHER_CTR, 0xff,
     "c1b92b0f5d7b043a94e5be2e6988c3b1365aa1d5d4a8d755418bfa41c342ffae"},
    {CIPHER_SERPENT_192, CIPHER_ECB, 0xff,
     "c6f0e1a0b6e3b933f0e151b3273efa6e008635af7c3519a7c8a81dda489b52cf"},
    {CIPHER_SERPENT_192, CIPHER_CBC, 0xff,
     "74fc5958d3b371e618755e21980376d13ffb245026b3fe038707b567929f36a2"},
    {CIPHER_SERPENT_192, CIPHER_XTS, 0xff,
     "f5f39eb91cd1191d8a400654697b48944eda22fd71d3adab4396f33a17b2239d"},
    {CIPHER_SERPENT_192, CIPHER_CTR, 0xff,
     "ea3b9d0792c082571efd3ad309c652a11320c2e9f4c6b4a615adab515fea8235"},
    {CIPHER_SERPENT_256, CIPHER_ECB, 0xff,
     "6579dee1db495c41be09dcf704eba81d4a34f37652fe9c53d2f89fea9cc9fbe2"},
    {CIPHER_SERPENT_256, CIPHER_CBC, 0xff,
     "28fda92ddfbaffd3268cae73efa3db6eebf43dc91aa08dd844c8d64f748166c4"},
    {CIPHER_SERPENT_256, CIPHER_XTS, 0xff,
     "a3bf1f873f26acf0a6fd8521c2323e6e93645c150dbf7ef4775977e78925d83d"},
    {CIPHER_SERPENT_256, CIPHER_CTR, 0xff,
     "2f0aac3aca909aa68180567ecf4a81c8d9e493ca8e353bf67018cde62d9e02c1"},
    {CIPHER_TWOFISH_128, CIPHER_ECB, 0xff,
     "13164a14bce4809f2867d974a995dbdd4c5163dcfc963d3521c75ac11b7d58d4"},
    {CIPHER_TWOFISH_128, CIPHER_CBC, 0xff,
     "3667432e3a6628716292531aec39986f7c394651339a148ad4f3dcb6b6ba56e3"},
    {CIPHER_TWOFISH_128, CIPHER_XTS, 0xff,
     "aaf4cb043cd32067025a8e85b7b03d45d8a5f6614e7a6f8b89338ffa8939e48b"},
    {CIPHER_TWOFISH_128, CIPHER_CTR, 0xff,
     "1ffaef00280e802e59a5df994e46f9774b3f764e2748f41953140a4e6602d313"},
    {CIPHER_TWOFISH_256, CIPHER_ECB, 0xff,
     "6e670617ac00da66a8fb97361e25ae49d43aa9272654b6c1af909d996422a1a8"},
    {CIPHER_TWOFISH_256, CIPHER_CBC, 0xff,
     "49399414aa062d803d504430c35d727007a2ab32e220a3512e413198019f08d9"},
    {CIPHER_TWOFISH_256, CIPHER_XTS, 0xff,
     "fb1127a4d38070007e75fef172683b2b335c4657cc1a9551074da2065f269853"},
    {CIPHER_TWOFISH_256, CIPHER_CTR, 0xff,
     "752e78130f76ab619ad6df86936e680b61bf63ed0797f94b565cd82f4f9e82f7"},
    {CIPHER_CAST5_128, CIPHER_ECB, 0xff,
     "034ac3886a752c2ffd79cd999b93fc8d7b390953aa48069a4d0b58020a0a0ee1"},
    {CIPHER_CAST5_128, CIPHER_CBC, 0xff,
     "c233d94da8fc1c062d79dcb8a334662a95a8cd33d504ea46c3e306b72dfbdcc4"},
    {CIPHER_CAST5_128, CIPHER_CTR, 0xff,
     "ed7c9429d22ca3ff5cdc25896f4ebc74c81eefedfddb9bf65dcd8d777a981b6a"},
};
/* clang-format on */

static const uint8_t kat_key[CIPHER_MAX_KEY_BYTES] = {
    0x27, 0x18, 0x28, 0x18, 0x28, 0x45, 0x90, 0x45, 0x23, 0x53, 0x60, 0x28, 0x74, 0x71, 0x35, 0x26,
    0x62, 0x49, 0x77, 0x57, 0x24, 0x70, 0x93, 0x69, 0x99, 0x59, 0x57, 0x49, 0x66, 0x96, 0x76, 0x27,
    0x31, 0x41, 0x59, 0x26, 0x53, 0x58, 0x97, 0x93, 0x23, 0x84, 0x62, 0x64, 0x33, 0x83, 0x27, 0x95,
    0x02, 0x88, 0x41, 0x97, 0x16, 0x93, 0x99, 0x37, 0x51, 0x05, 0x82, 0x09, 0x74, 0x94, 0x45, 0x92};

/* An xts key is a piece of each half of kat_key. */
static size_t kat_make_key(const CipherKat *kat, uint8_t *key)
{
    size_t len = cipher_key_bytes(kat->alg, kat->mode);

    memcpy(key, kat_key, len);
    if (kat->mode == CIPHER_XTS) {
        memcpy(key + len / 2, kat_key + CIPHER_MAX_KEY_BYTES / 2, len / 2);
    }
    return len;
}

static void kat_make_ivs(const CipherKat *kat, uint8_t *ivs)
{
    memset(ivs, 0, KAT_SECTORS * CIPHER_IV_BYTES);
    for (int i = 0; i < KAT_SECTORS; i++) {
        ivs[i * CIPHER_IV_BYTES] = kat->iv0;
    }
}

/* All sectors are alike, and the first is the known one. */
static bool kat_sectors_match(const uint8_t *buf, const char *sha256)
{
    uint8_t digest[32];
    char hex[65];

    for (int i = 1; i < KAT_SECTORS; i++) {
        if (memcmp(buf, buf + i * KAT_BYTES, KAT_BYTES)) {
            return false;
        }
    }
    hash_compute(HASH_SHA256, buf, KAT_BYTES, digest);
    for (size_t k = 0; k < sizeof(digest); k++) {
        g_snprintf(hex + 2 * k, 3, "%02x", digest[k]);
    }
    return !strcmp(hex, sha256);
}

static bool kat_passes(const CipherDriver *driver, void *ctx, const CipherKat *kat)
{
    uint8_t plain[KAT_SECTORS * KAT_BYTES], buf[sizeof(plain)], ivs[KAT_SECTORS * CIPHER_IV_BYTES];

    for (size_t i = 0; i < sizeof(plain); i++) {
        plain[i] = i;
    }
    kat_make_ivs(kat, ivs);
    if (driver->encrypt(ctx, ivs, KAT_BYTES, KAT_SECTORS, plain, buf) || !kat_sectors_match(buf, kat->sha256)) {
        return false;
    }
    kat_make_ivs(kat, ivs);
    if (driver->decrypt(ctx, ivs, KAT_BYTES, KAT_SECTORS, buf, buf) || memcmp(buf, plain, sizeof(buf))) {
        return false;
    }
    kat_make_ivs(kat, ivs);
    return !driver->encrypt(ctx, ivs, KAT_BYTES, KAT_SECTORS, buf, buf) && kat_sectors_match(buf, kat->sha256);
}

bool cipher_driver_self_test(const CipherDriver *driver, CipherAlg alg, CipherMode mode, GError **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kats); i++) {
        const CipherKat *kat = &kats[i];
        uint8_t key[CIPHER_MAX_KEY_BYTES];
        void *ctx;

        if (kat->mode != mode || strcmp(cipher_alg_family(kat->alg), cipher_alg_family(alg)) ||
            !driver->supports(kat->alg, mode)) {
            continue;
        }
        ctx = driver->ctx_new(kat->alg, kat->mode, key, kat_make_key(kat, key), errp);
        if (!ctx) {
            return false;
        }
        bool passed = kat_passes(driver, ctx, kat);
        driver->ctx_free(ctx);
        if (!passed) {
            error_set(errp, "Row '%s' gives a wrong answer for %s-%s", driver->name, cipher_alg_name(kat->alg),
                      cipher_mode_name(kat->mode));
            return false;
        }
    }
    return true;
}
