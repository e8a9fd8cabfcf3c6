/* SPDX-License-Identifier: Apache-2.0 */
#include "job_layout.h"

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
