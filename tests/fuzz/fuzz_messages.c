/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers, libraries and clients of a job send: whatever the bytes are, what is taken from
 * them is within its limits. The first byte chooses who reads the rest.
 */
#include "collect/launch/coord/event.h"
#include "collect/launch/coord/mpi_address.h"
#include "collect/launch/plan/record.h"
#include "collect/launch/session/ctl.h"
#include "collect/protocol.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	WORLD = 8,
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* An event that is taken has a rank and comes out of its own bytes again. */
static void read_event(const uint8_t *data, size_t size, int from, int to)
{
	char bytes[NP_EVENT_MOST_BYTES];
	struct np_event event;
	struct np_event again;
	size_t length;

	if (!np_event_unpack((const char *)data, size, WORLD, from, to, &event))
		return;
	must(event.rank >= 0 && event.rank < WORLD);
	must(memchr(event.text, '\0', sizeof(event.text)) != NULL);
	length = np_event_pack(&event, bytes);
	must(length == size && memcmp(bytes, data, size) == 0);
	must(np_event_unpack(bytes, length, WORLD, from, to, &again));
}

static void read_message(const uint8_t *data, size_t size)
{
	struct np_message message = { 0 };
	struct np_record record;

	memcpy(&message, data, size < sizeof(message) ? size : sizeof(message));
	if (!np_message_check(&message, size))
		return;
	must(memchr(message.text, '\0', sizeof(message.text)) != NULL);
	np_record_init(&record, 0, true);
	np_record_take(&record, &message);
	np_record_conclude(&record, 2, 5, false);
	must(np_record_check(&record));
}

static void read_record(const uint8_t *data, size_t size)
{
	struct np_record record;

	np_record_init(&record, 3, true);
	memcpy(&record, data, size < sizeof(record) ? size : sizeof(record));
	if (np_record_check(&record))
		(void)np_record_state(&record);
}

static void read_request(const uint8_t *data, size_t size)
{
	struct np_ctl_request request = { .version = NP_CTL_VERSION };
	struct np_err err = NP_ERR_INIT;

	memcpy(&request, data, size < sizeof(request) ? size : sizeof(request));
	request.ranks[sizeof(request.ranks) - 1] = '\0';
	if (np_ctl_check(&request, &err) == NP_OK)
		must(request.verb >= NP_CTL_START && request.verb <= NP_CTL_STATUS);
}

static void read_texts(const uint8_t *data, size_t size)
{
	struct np_inject_config config;
	struct np_tcp_address address;
	struct np_err err = NP_ERR_INIT;
	char *text = malloc(size + 1);

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	(void)np_mpi_address_parse(text, &address);
	if (np_inject_config_parse(text, &config, &err) == NP_OK)
		must((unsigned)config.source < NP_STEP_SOURCES);
	free(text);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0] % 6) {
	case 0:
		read_event(data + 1, size - 1, 3, 0);
		break;
	case 1:
		read_event(data + 1, size - 1, 0, 3);
		break;
	case 2:
		read_message(data + 1, size - 1);
		break;
	case 3:
		read_record(data + 1, size - 1);
		break;
	case 4:
		read_request(data + 1, size - 1);
		break;
	default:
		read_texts(data + 1, size - 1);
		break;
	}
	return 0;
}
