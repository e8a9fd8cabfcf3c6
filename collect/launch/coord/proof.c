/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets, nonces and codes of the rendezvous: the only source that uses libsodium. */
#include "proof.h"

#include <assert.h>
#include <sodium.h>

static_assert((int)NP_PROOF_BYTES == (int)crypto_auth_hmacsha256_BYTES, "size of a code");
static_assert((int)NP_PROOF_BYTES == (int)crypto_auth_hmacsha256_KEYBYTES, "size of a key");
static_assert((int)NP_PROOF_BYTES == (int)crypto_hash_sha256_BYTES, "size of a digest");

/* A number in an order of bytes that does not depend on the machine. */
static void add_number(crypto_auth_hmacsha256_state *state, uint64_t number)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	(void)crypto_auth_hmacsha256_update(state, bytes, sizeof(bytes));
}

/* What was here before is not to be found in memory afterwards. */
static void finish(crypto_auth_hmacsha256_state *state, unsigned char *ret)
{
	(void)crypto_auth_hmacsha256_final(state, ret);
	sodium_memzero(state, sizeof(*state));
}

void np_proof_random(unsigned char *bytes, size_t size)
{
	/* Ends the process if the system has no random numbers: without them there is no secret. */
	if (sodium_init() < 0)
		abort();
	randombytes_buf(bytes, size);
}

void np_proof_new_token(char token[NP_PROOF_TOKEN])
{
	unsigned char bytes[16];

	np_proof_random(bytes, sizeof(bytes));
	(void)sodium_bin2hex(token, NP_PROOF_TOKEN, bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
}

void np_proof_job_token(const char *secret, const char *job, char token[NP_PROOF_TOKEN])
{
	crypto_auth_hmacsha256_state state;
	unsigned char digest[NP_PROOF_BYTES];

	(void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, strlen(secret));
	(void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)job, strlen(job));
	finish(&state, digest);
	(void)sodium_bin2hex(token, NP_PROOF_TOKEN, digest, sizeof(digest));
	sodium_memzero(digest, sizeof(digest));
}

void np_proof_key_of_token(const char *token, struct np_proof_key *ret)
{
	(void)crypto_hash_sha256(ret->bytes, (const unsigned char *)token, strlen(token));
}

void np_proof_of_meeting(const struct np_proof_key *key, enum np_proof_use use,
			 const struct np_proof_meeting *meeting, unsigned char ret[NP_PROOF_BYTES])
{
	crypto_auth_hmacsha256_state state;

	(void)crypto_auth_hmacsha256_init(&state, key->bytes, sizeof(key->bytes));
	add_number(&state, (uint64_t)use);
	add_number(&state, (uint64_t)(uint32_t)meeting->rank);
	add_number(&state, (uint64_t)(uint32_t)meeting->size);
	(void)crypto_auth_hmacsha256_update(&state, meeting->comer, sizeof(meeting->comer));
	(void)crypto_auth_hmacsha256_update(&state, meeting->host, sizeof(meeting->host));
	finish(&state, ret);
}

void np_proof_of_message(const struct np_proof_key *key, uint64_t number, const void *head,
			 size_t head_size, const void *body, size_t body_size,
			 unsigned char ret[NP_PROOF_BYTES])
{
	crypto_auth_hmacsha256_state state;

	(void)crypto_auth_hmacsha256_init(&state, key->bytes, sizeof(key->bytes));
	add_number(&state, number);
	(void)crypto_auth_hmacsha256_update(&state, head, head_size);
	(void)crypto_auth_hmacsha256_update(&state, body, body_size);
	finish(&state, ret);
}

bool np_proof_same(const unsigned char a[NP_PROOF_BYTES], const unsigned char b[NP_PROOF_BYTES])
{
	return sodium_memcmp(a, b, NP_PROOF_BYTES) == 0;
}
