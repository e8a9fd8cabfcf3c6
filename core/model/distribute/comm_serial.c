/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/comm.h"

static int send_nobody(const struct np_comm *comm, int to, const void *bytes, size_t length,
		       struct np_err *err)
{
	(void)comm;
	(void)bytes;
	return np_fail(err, NP_E_IO, "no process %d to send %zu bytes to", to, length);
}

static int receive_nothing(const struct np_comm *comm, int from, void **ret, size_t *ret_length,
			   struct np_err *err)
{
	(void)comm;
	(void)ret;
	(void)ret_length;
	return np_fail(err, NP_E_IO, "no process %d to hear from", from);
}

static int skim_nothing(const struct np_comm *comm, int from, void *head, size_t length,
			struct np_err *err)
{
	(void)head;
	(void)length;
	return receive_nothing(comm, from, NULL, NULL, err);
}

static bool nothing_arrived(const struct np_comm *comm, int from)
{
	(void)comm;
	(void)from;
	return false;
}

static void tell_nobody(const struct np_comm *comm, const struct np_comm_news *news)
{
	(void)comm;
	(void)news;
}

static bool hear_nothing(const struct np_comm *comm, int *ret_from, struct np_comm_news *ret)
{
	(void)comm;
	(void)ret_from;
	(void)ret;
	return false;
}

static void close_nothing(const struct np_comm *comm)
{
	(void)comm;
}

const struct np_comm np_comm_serial = {
	.size = 1,
	.send = send_nobody,
	.receive = receive_nothing,
	.skim = skim_nothing,
	.arrived = nothing_arrived,
	.tell = tell_nobody,
	.hear = hear_nothing,
	.close = close_nothing,
};
