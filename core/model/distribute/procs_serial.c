/* SPDX-License-Identifier: Apache-2.0 */
/* The one process that does everything when there are no others. */
#include "npuprof/procs.h"

static int send_nobody(const struct np_procs *procs, int to, const void *bytes, size_t length,
		       struct np_err *err)
{
	(void)procs;
	(void)bytes;
	return np_fail(err, NP_E_IO, "no process %d to send %zu bytes to", to, length);
}

static int receive_nothing(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
			   struct np_err *err)
{
	(void)procs;
	(void)ret;
	(void)ret_length;
	return np_fail(err, NP_E_IO, "no process %d to hear from", from);
}

static int skim_nothing(const struct np_procs *procs, int from, void *head, size_t length,
			struct np_err *err)
{
	(void)head;
	(void)length;
	return receive_nothing(procs, from, NULL, NULL, err);
}

static bool nothing_arrived(const struct np_procs *procs, int from)
{
	(void)procs;
	(void)from;
	return false;
}

static void tell_nobody(const struct np_procs *procs, const struct np_procs_news *news)
{
	(void)procs;
	(void)news;
}

static bool hear_nothing(const struct np_procs *procs, int *ret_from, struct np_procs_news *ret)
{
	(void)procs;
	(void)ret_from;
	(void)ret;
	return false;
}

static void close_nothing(const struct np_procs *procs)
{
	(void)procs;
}

const struct np_procs np_procs_serial = {
	.size = 1,
	.send = send_nobody,
	.receive = receive_nothing,
	.skim = skim_nothing,
	.arrived = nothing_arrived,
	.tell = tell_nobody,
	.hear = hear_nothing,
	.close = close_nothing,
};
