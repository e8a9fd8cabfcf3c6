/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PROOF_H
#define NP_PROOF_H

#include "npuprof/err.h"

/*
 * Launchers prove to each other that they know the secret of their job
 * ====================================================================
 *
 * The secret itself never travels. Who comes says a number of its own choice (HELLO), is given
 *another one (CHALLENGE), and answers with a code that only somebody with the secret can compute
 *from both (PROOF). Both then compute two keys, one for each direction, from the secret and the two
 *numbers; every message from then on carries a code over its place in the sequence, its head and
 *its body. So the first message of the other side proves that it knows the secret too, and a
 *message that was changed, left out, repeated or taken from another connection is none.
 *
 *	comer   ── HELLO rank, size, nonce ──▶   launcher 0
 *	        ◀────── CHALLENGE nonce ───────
 *	        ── PROOF code ────────────────▶   sends away whoever is wrong
 *	        ◀────── WELCOME, with a code ──
 *
 * Codes are HMAC-SHA-256 of libsodium, which only npuprof-collect is linked with. Nothing is
 * encrypted: what launchers say (steps, paths, names of hosts) is no secret, who may say it is.
 */
enum {
	NP_PROOF_BYTES = 32,     /* of a key, of a nonce, of a code */
	NP_PROOF_TOKEN = 65,     /* a secret as text, with its end */
	NP_PROOF_LEAST_TEXT = 16 /* characters of a secret that a user gives */
};

struct np_proof_key {
	unsigned char bytes[NP_PROOF_BYTES];
};

/* What both sides know of a connection before they trust each other. */
struct np_proof_meeting {
	int32_t rank;
	int32_t size;
	unsigned char comer[NP_PROOF_BYTES]; /* nonce of who comes */
	unsigned char host[NP_PROOF_BYTES];  /* nonce of launcher 0 */
};

/* What a code or a key is for: no code for one thing is one for another. */
enum np_proof_use {
	NP_PROOF_ANSWER = 1, /* to the challenge */
	NP_PROOF_TO_HOST,    /* key of messages to launcher 0 */
	NP_PROOF_TO_COMER,   /* key of messages from it */
};

void np_proof_random(unsigned char *bytes, size_t size);

/* A new secret of 128 random bits, as text. */
void np_proof_new_token(char token[NP_PROOF_TOKEN]);

/* The secret of this job, as text, from what a user gave for one or more jobs. */
void np_proof_job_token(const char *secret, const char *job, char token[NP_PROOF_TOKEN]);

void np_proof_key_of_token(const char *token, struct np_proof_key *ret);

/* The code or key of this use for a meeting. */
void np_proof_of_meeting(const struct np_proof_key *key, enum np_proof_use use,
			 const struct np_proof_meeting *meeting, unsigned char ret[NP_PROOF_BYTES]);

/* The code of a message: `number` is its place in the sequence. */
void np_proof_of_message(const struct np_proof_key *key, uint64_t number, const void *head,
			 size_t head_size, const void *body, size_t body_size,
			 unsigned char ret[NP_PROOF_BYTES]);

/* Takes the same time wherever they differ. */
bool np_proof_same(const unsigned char a[NP_PROOF_BYTES], const unsigned char b[NP_PROOF_BYTES]);

#endif /* NP_PROOF_H */
