/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank is on which host: what every rank says of its own, and the numbers that follow. */
#include "job_layout.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "npuprof/realtime.h"

void np_job_layout_release(struct np_job_layout *layout)
{
	free(layout->ranks);
	free(layout->hosts);
	*layout = (struct np_job_layout){ 0 };
}

static int host_index(const struct np_job_layout *layout, const char *name)
{
	for (int i = 0; i < layout->host_count; i++) {
		if (strcmp(layout->hosts[i].name, name) == 0)
			return i;
	}
	return layout->host_count;
}

static void add_rank(struct np_job_layout *layout, const struct np_job_layout_word *word, int rank)
{
	int index = host_index(layout, word->name);
	struct np_job_layout_host *host = &layout->hosts[index];

	if (index == layout->host_count) {
		memcpy(host->name, word->name, sizeof(host->name));
		memcpy(host->uid, word->uid, sizeof(host->uid));
		host->leader = rank;
		layout->host_count++;
	}
	layout->ranks[rank] = (struct np_job_layout_rank){ index, host->ranks++ };
	layout->simulated |= word->simulated;
}

int np_job_layout_number(struct np_job_layout *layout, const struct np_job_layout_word *words,
			 int world, struct np_err *err)
{
	bool one_machine = true;

	assert(world >= 1);
	*layout = (struct np_job_layout){
		.world = world,
		.ranks = calloc((size_t)world, sizeof(*layout->ranks)),
		.hosts = calloc((size_t)world, sizeof(*layout->hosts)),
	};
	if (!layout->ranks || !layout->hosts)
		return np_fail_nomem(err, "the hosts of the job");
	for (int rank = 0; rank < world; rank++) {
		add_rank(layout, &words[rank], rank);
		one_machine &= strcmp(words[rank].machine, words[0].machine) == 0;
	}
	/* A name that only the cluster's network knows is not needed on one machine. */
	(void)snprintf(layout->first_address, sizeof(layout->first_address), "%s",
		       one_machine ? "127.0.0.1" : words[0].machine);
	return NP_OK;
}

bool np_job_layout_same_hosts(const struct np_job_layout *layout, const struct np_job_layout *other)
{
	if (layout->host_count != other->host_count)
		return false;
	for (int i = 0; i < layout->host_count; i++) {
		if (strcmp(layout->hosts[i].name, other->hosts[i].name) != 0)
			return false;
	}
	return true;
}

/* --- asking ---------------------------------------------------------------- */

/* FNV-1a: an identity that is the same in every run and needs no more than to differ. */
static uint64_t hash(uint64_t state, const char *text)
{
	for (; *text; text++)
		state = (state ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return state;
}

static void read_machine_id(char *id, size_t size)
{
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, id, size - 1);

	id[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

void np_job_layout_describe(struct np_job_layout_word *word)
{
	const char *simulated = np_realtime_host();
	uint64_t state = UINT64_C(14695981039346656037);
	char id[64] = "";

	*word = (struct np_job_layout_word){ .simulated = simulated != NULL };
	if (gethostname(word->machine, sizeof(word->machine) - 1) < 0)
		(void)snprintf(word->machine, sizeof(word->machine), "localhost");
	(void)snprintf(word->name, sizeof(word->name), "%s", simulated ? simulated : word->machine);
	if (!simulated)
		read_machine_id(id, sizeof(id));
	/* Other tools read it as a signed number. */
	(void)snprintf(word->uid, sizeof(word->uid), "%" PRIu64,
		       hash(hash(state, id), word->name) >> 1);
}

int np_job_layout_make(struct np_job_layout *layout, struct np_coord *coord, struct np_err *err)
{
	int world = np_coord_size(coord);
	struct np_buf *said = calloc((size_t)world, sizeof(*said));
	NP_CLEANUP(np_buf_release) struct np_buf all = NP_BUF_INIT;
	struct np_job_layout_word mine;
	int rc;

	if (!said)
		return np_fail_nomem(err, "the hosts of the job");
	for (int i = 0; i < world; i++)
		said[i] = NP_BUF_INIT;
	np_job_layout_describe(&mine);
	rc = np_coord_gather(coord, &mine, sizeof(mine), said, err);
	for (int i = 0; i < world; i++) {
		/* One that is lost says nothing; it has to be somewhere. */
		if (np_coord_lost(coord, i))
			np_buf_add_bytes(&all, (const char *)&mine, sizeof(mine));
		else
			np_buf_add_bytes(&all, said[i].text, said[i].length);
		np_buf_release(&said[i]);
	}
	free(said);
	if (rc == NP_OK)
		rc = np_coord_bcast(coord, &all, err);
	if (rc == NP_OK && all.length != sizeof(mine) * (size_t)world)
		rc = np_fail(err, NP_E_FORMAT, "the ranks run different versions of this program");
	if (rc < 0)
		return rc;
	return np_job_layout_number(
		layout, (const struct np_job_layout_word *)(const void *)all.text, world, err);
}

int np_job_layout_alone(struct np_job_layout *layout, int world, struct np_err *err)
{
	struct np_job_layout_word *words = calloc((size_t)world, sizeof(*words));
	int rc;

	if (!words)
		return np_fail_nomem(err, "the hosts of the job");
	for (int i = 0; i < world; i++)
		np_job_layout_describe(&words[i]);
	rc = np_job_layout_number(layout, words, world, err);
	free(words);
	return rc;
}
