/* SPDX-License-Identifier: Apache-2.0 */
/* Sends orders and answers between processes, with and without memory. */
#include "distributed.h"

#include "npuprof/load_run.h"

/* Written without asking for memory; the longest is a failure. */
struct short_message {
	uint8_t bytes[NP_PROCS_SHORT];
};

_Static_assert(sizeof(((struct np_err *)0)->text) <= NP_PROCS_SHORT / 2, "failures are short");

/* Longer than what tells the kind of an order and a status. */
#define HEAD_BYTES 32

static struct np_bytes_writer write_within(struct short_message *message)
{
	return (struct np_bytes_writer){ .bytes = { .item = message->bytes,
						    .capacity = sizeof(message->bytes) },
					 .fixed = true };
}

static int send_written(const struct np_procs *procs, int to, const struct np_bytes_writer *writer,
			struct np_err *err)
{
	int rc = np_bytes_written(writer, "a summary", err);

	return rc < 0 ? rc : procs->send(procs, to, writer->bytes.item, writer->bytes.count, err);
}

static int send_head(const struct np_procs *procs, int to, enum order order, int status,
		     struct np_err *err)
{
	struct short_message message;
	struct np_bytes_writer head = write_within(&message);

	np_bytes_put_number(&head, order);
	np_bytes_put_signed(&head, status);
	return send_written(procs, to, &head, err);
}

/* --- the leader ---------------------------------------------------------------------------------
 */

int order_send(const struct np_procs *procs, int to, enum order order,
	       struct np_bytes_writer *writer, struct np_err *err)
{
	int rc = np_bytes_written(writer, "a summary", err);

	if (rc == NP_OK)
		rc = send_head(procs, to, order, 0, err);
	if (rc == NP_OK)
		rc = send_written(procs, to, writer, err);
	np_bytes_release(&writer->bytes);
	return rc;
}

int order_receive(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
		  struct np_err *err)
{
	struct np_bytes_reader reader = { 0 };
	void *bytes = NULL;
	size_t length = 0;
	int64_t code;
	int rc = procs->receive(procs, from, &bytes, &length, err);

	if (rc < 0)
		return rc;
	reader.at = bytes;
	reader.end = reader.at + length;
	if (np_bytes_get_number(&reader) == ANSWER_PART) {
		*ret = bytes;
		*ret_length = length;
		return NP_OK;
	}
	code = np_bytes_get_signed(&reader);
	rc = np_fail(err, code < 0 ? (enum np_code)code : NP_E_FORMAT, "process %d: %.*s", from,
		     (int)(reader.end - reader.at), (const char *)reader.at);
	free(bytes);
	return rc;
}

/* Tell all, and take in what they have sent before they hear it. */
static int break_off(const struct np_procs *procs, enum order order, int status, struct np_err *err)
{
	int rc = NP_OK;

	for (int to = 1; to < procs->size && rc == NP_OK; to++)
		rc = send_head(procs, to, order, status, err);
	for (int from = 1; from < procs->size && rc == NP_OK; from++) {
		uint8_t answer = 0;

		while (rc == NP_OK && answer != ANSWER_STOPPED)
			rc = procs->skim(procs, from, &answer, sizeof(answer), err);
	}
	return rc;
}

void orders_stop(const struct np_procs *procs)
{
	(void)!break_off(procs, ORDER_STOP, 0, NULL);
}

int np_load_dismiss(const struct np_procs *procs, int status, struct np_err *err)
{
	return break_off(procs, ORDER_END, status, err);
}

/* --- the others ---------------------------------------------------------------------------------
 */

int order_await(const struct np_procs *procs, uint64_t *ret_order, int *ret_status,
		struct np_err *err)
{
	uint8_t head[HEAD_BYTES];
	struct np_bytes_reader reader = { .at = head, .end = head + sizeof(head) };
	int rc = procs->skim(procs, 0, head, sizeof(head), err);

	if (rc < 0)
		return rc;
	*ret_order = np_bytes_get_number(&reader);
	if (*ret_order == ORDER_END)
		*ret_status = (int)np_bytes_get_signed(&reader);
	return NP_OK;
}

int answer_send(const struct np_procs *procs, struct np_bytes_writer *writer, struct np_err *err)
{
	int rc = send_written(procs, 0, writer, err);

	np_bytes_release(&writer->bytes);
	return rc;
}

bool order_is_over(const struct np_procs *procs)
{
	/* Nothing else is sent to a process that has not answered. */
	return procs->arrived(procs, 0);
}

int order_say_stopped(const struct np_procs *procs, struct np_err *err)
{
	struct short_message message;
	struct np_bytes_writer answer = write_within(&message);

	np_bytes_put_number(&answer, ANSWER_STOPPED);
	return send_written(procs, 0, &answer, err);
}

int order_say_failed(const struct np_procs *procs, const struct np_err *why, struct np_err *err)
{
	struct short_message message;
	struct np_bytes_writer answer = write_within(&message);

	np_bytes_put_number(&answer, ANSWER_FAILED);
	np_bytes_put_signed(&answer, why->code);
	np_bytes_put_raw(&answer, why->text, strlen(why->text));
	return send_written(procs, 0, &answer, err);
}
