/* SPDX-License-Identifier: Apache-2.0 */
/* Divides figures of ranks into what their roles and what their machines cause. */
#include "two_way.h"

#include "npuprof/elementary.h"

#include "middle.h"

/* Parts of the runs that are left out in turn, and the fewest that say something. */
#define PARTS       20
#define PARTS_LEAST 4

#define MEDIAN_SWEEPS 12
#define MEAN_SWEEPS   400
#define CONVERGED     1e-7

/* What lies further out than so many deviations weighs less. */
#define FAR 1.5

enum dimension {
	BY_RUN,
	BY_ROLE,
	BY_MACHINE,
	DIMENSIONS,
};

/* The observations of one run, role or machine: places in `order`. */
struct index {
	uint32_t *first; /* by its number, and one more */
	uint32_t *order;
	size_t count;
};

struct fit {
	const struct hist_observation *list;
	size_t count;
	struct index index[DIMENSIONS];
	double *effect[DIMENSIONS];
	double *rest; /* what is left of every observation */
	double *scratch;
	uint32_t *component;
	size_t parts;
	bool *ignored; /* observations of the part that is left out */
};

static uint32_t number_of(const struct hist_observation *one, enum dimension by)
{
	return by == BY_RUN ? one->run : by == BY_ROLE ? one->role : one->machine;
}

/* Leave a part of the runs out; SIZE_MAX: none. */
static void leave_out(struct fit *fit, size_t part)
{
	for (size_t i = 0; i < fit->count; i++)
		fit->ignored[i] = part != SIZE_MAX && fit->list[i].run % fit->parts == part;
}

/* --- preparing ------------------------------------------------------------------------------- */

static int make_index(struct fit *fit, enum dimension by, size_t count, struct np_err *err)
{
	struct index *index = &fit->index[by];
	uint32_t *next;

	index->count = count;
	index->first = calloc(count + 1, sizeof(*index->first));
	index->order = calloc(fit->count + 1, sizeof(*index->order));
	fit->effect[by] = calloc(count + 1, sizeof(double));
	next = calloc(count + 1, sizeof(*next));
	if (!index->first || !index->order || !fit->effect[by] || !next) {
		free(next);
		return np_fail_nomem(err, "effects");
	}
	for (size_t i = 0; i < fit->count; i++)
		index->first[number_of(&fit->list[i], by) + 1]++;
	for (size_t i = 0; i < count; i++)
		index->first[i + 1] += index->first[i];
	memcpy(next, index->first, count * sizeof(*next));
	for (size_t i = 0; i < fit->count; i++)
		index->order[next[number_of(&fit->list[i], by)]++] = (uint32_t)i;
	free(next);
	return NP_OK;
}

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node) {
		parent[node] = parent[parent[node]];
		node = parent[node];
	}
	return node;
}

/* Roles, then machines, by what they met in the runs that are not left out. */
static size_t find_components(const struct fit *fit, uint32_t *parent)
{
	size_t roles = fit->index[BY_ROLE].count;
	size_t nodes = roles + fit->index[BY_MACHINE].count;
	size_t components = 0;

	for (size_t i = 0; i < nodes; i++)
		parent[i] = (uint32_t)i;
	for (size_t i = 0; i < fit->count; i++) {
		uint32_t a = root_of(parent, fit->list[i].role);
		uint32_t b = root_of(parent, (uint32_t)roles + fit->list[i].machine);

		if (fit->ignored[i])
			continue;
		parent[a > b ? a : b] = a > b ? b : a;
	}
	for (size_t i = 0; i < nodes; i++) {
		parent[i] = root_of(parent, (uint32_t)i);
		components += parent[i] == i;
	}
	return components;
}

/* --- fitting --------------------------------------------------------------------------------- */

static void move(struct fit *fit, enum dimension by, size_t number, double by_much)
{
	const struct index *index = &fit->index[by];

	fit->effect[by][number] += by_much;
	for (uint32_t i = index->first[number]; i < index->first[number + 1]; i++)
		fit->rest[index->order[i]] -= by_much;
}

static void sweep_medians(struct fit *fit, enum dimension by)
{
	const struct index *index = &fit->index[by];

	for (size_t number = 0; number < index->count; number++) {
		size_t count = 0;

		for (uint32_t i = index->first[number]; i < index->first[number + 1]; i++) {
			if (!fit->ignored[index->order[i]])
				fit->scratch[count++] = fit->rest[index->order[i]];
		}
		if (count > 0)
			move(fit, by, number, hist_middle(fit->scratch, count));
	}
}

/* The largest change of an effect. */
static double sweep_means(struct fit *fit, enum dimension by, double deviation)
{
	const struct index *index = &fit->index[by];
	double most = 0;

	for (size_t number = 0; number < index->count; number++) {
		double weights = 0;
		double sum = 0;

		for (uint32_t i = index->first[number]; i < index->first[number + 1]; i++) {
			double rest = fit->rest[index->order[i]];
			double weight =
				fabs(rest) <= FAR * deviation ? 1 : FAR * deviation / fabs(rest);

			if (fit->ignored[index->order[i]])
				continue;
			weights += weight;
			sum += weight * rest;
		}
		if (weights > 0) {
			move(fit, by, number, sum / weights);
			most = fabs(sum / weights) > most ? fabs(sum / weights) : most;
		}
	}
	return most;
}

static double deviation_of_rest(struct fit *fit)
{
	size_t count = 0;

	for (size_t i = 0; i < fit->count; i++) {
		if (!fit->ignored[i])
			fit->scratch[count++] = fabs(fit->rest[i]);
	}
	return count > 0 ? 1.4826 * hist_middle(fit->scratch, count) : 0;
}

/* The middle of the roles and of the machines of each component is 0: what is over is the runs'. */
static void level(struct fit *fit, enum dimension by)
{
	size_t roles = fit->index[BY_ROLE].count;
	size_t base = by == BY_ROLE ? 0 : roles;
	size_t nodes = roles + fit->index[BY_MACHINE].count;

	for (size_t root = 0; root < nodes; root++) {
		size_t count = 0;
		double middle;

		if (fit->component[root] != root)
			continue;
		for (size_t i = 0; i < fit->index[by].count; i++) {
			if (fit->component[base + i] == root)
				fit->scratch[count++] = fit->effect[by][i];
		}
		middle = count > 0 ? hist_middle(fit->scratch, count) : 0;
		for (size_t i = 0; i < fit->index[by].count; i++) {
			if (fit->component[base + i] == root)
				fit->effect[by][i] -= middle;
		}
	}
}

/* From where the effects are, to where the weighted means of what is left are 0. */
static void settle(struct fit *fit, double deviation)
{
	for (int i = 0; i < MEAN_SWEEPS; i++) {
		double most = 0;

		for (int by = 0; by < DIMENSIONS; by++) {
			double moved = sweep_means(fit, (enum dimension)by, deviation);

			most = moved > most ? moved : most;
		}
		if (most < CONVERGED)
			break;
	}
	level(fit, BY_ROLE);
	level(fit, BY_MACHINE);
}

static double fit_all(struct fit *fit)
{
	double deviation;

	for (size_t i = 0; i < fit->count; i++)
		fit->rest[i] = fit->list[i].value;
	for (int by = 0; by < DIMENSIONS; by++)
		memset(fit->effect[by], 0, fit->index[by].count * sizeof(double));
	for (int i = 0; i < MEDIAN_SWEEPS; i++) {
		for (int by = 0; by < DIMENSIONS; by++)
			sweep_medians(fit, (enum dimension)by);
	}
	deviation = deviation_of_rest(fit);
	settle(fit, deviation);
	return deviation;
}

/*
 * Without a part of the runs, from what was found with all: with weights that fall off as these do
 * there is one solution, wherever the search begins.
 */
static void fit_again(struct fit *fit)
{
	for (size_t i = 0; i < fit->count; i++) {
		const struct hist_observation *one = &fit->list[i];

		fit->rest[i] = one->value - fit->effect[BY_RUN][one->run] -
			       fit->effect[BY_ROLE][one->role] -
			       fit->effect[BY_MACHINE][one->machine];
	}
	settle(fit, deviation_of_rest(fit));
}

/* --- results --------------------------------------------------------------------------------- */

static void take_effects(struct fit *fit, enum dimension by, struct hist_effect *effects)
{
	size_t base = by == BY_ROLE ? 0 : fit->index[BY_ROLE].count;
	size_t nodes = fit->index[BY_ROLE].count + fit->index[BY_MACHINE].count;

	/* Members of each component, by its first node. */
	memset(fit->scratch, 0, nodes * sizeof(*fit->scratch));
	for (size_t i = 0; i < fit->index[by].count; i++)
		fit->scratch[fit->component[base + i]] += 1;
	for (size_t i = 0; i < fit->index[by].count; i++) {
		struct hist_effect *effect = &effects[i];

		effect->count = fit->index[by].first[i + 1] - fit->index[by].first[i];
		effect->component = effect->count > 0 ? fit->component[base + i] : UINT32_MAX;
		effect->told = effect->count > 0 && fit->scratch[fit->component[base + i]] > 1;
		effect->share = effect->told ? np_expm1(fit->effect[by][i]) : (double)NAN;
		effect->error = (double)NAN;
	}
}

/* Left out in turn, the parts of the runs say how far chance moves an effect. */
static int measure_errors(struct fit *fit, struct hist_two_way *ret, struct np_err *err)
{
	static const enum dimension both[] = { BY_ROLE, BY_MACHINE };
	size_t nodes = ret->role_count + ret->machine_count;
	double *sum = calloc(2 * nodes + 1, sizeof(*sum));
	uint32_t *parent = calloc(nodes + 1, sizeof(*parent));

	if (!sum || !parent) {
		free(sum);
		free(parent);
		return np_fail_nomem(err, "effects");
	}
	for (size_t part = 0; part < fit->parts; part++) {
		size_t node = 0;

		leave_out(fit, part);
		/* What hangs on the runs that are left out shall not keep what they said of it. */
		if (find_components(fit, parent) == ret->components)
			fit_again(fit);
		else
			(void)fit_all(fit);
		for (size_t d = 0; d < NP_COUNT(both); d++) {
			for (size_t i = 0; i < fit->index[both[d]].count; i++, node++) {
				sum[2 * node] += fit->effect[both[d]][i];
				sum[2 * node + 1] +=
					fit->effect[both[d]][i] * fit->effect[both[d]][i];
			}
		}
	}
	for (size_t node = 0; node < nodes; node++) {
		struct hist_effect *effect = node < ret->role_count
						     ? &ret->roles[node]
						     : &ret->machines[node - ret->role_count];
		double parts = (double)fit->parts;
		double squares = sum[2 * node + 1] - sum[2 * node] * sum[2 * node] / parts;

		effect->error = sqrt((parts - 1) / parts * (squares > 0 ? squares : 0));
	}
	free(sum);
	free(parent);
	return NP_OK;
}

/*
 * What tells a role from the machine that it is mostly on are the observations in which one of them
 * is without the other. Where these are few, leaving out a part of the runs changes little and says
 * little: an effect is known no better than by what is left of so many.
 */
static int floor_errors(struct fit *fit, enum dimension by, double spread,
			struct hist_effect *effects, struct np_err *err)
{
	enum dimension other = by == BY_ROLE ? BY_MACHINE : BY_ROLE;
	uint32_t *met = calloc(fit->index[other].count + 1, sizeof(*met));

	if (!met)
		return np_fail_nomem(err, "effects");
	for (size_t i = 0; i < fit->index[by].count; i++) {
		const struct index *own = &fit->index[by];
		uint32_t mostly = 0;
		uint32_t most = 0;
		uint32_t apart;
		double least;

		for (uint32_t j = own->first[i]; j < own->first[i + 1]; j++) {
			uint32_t with = number_of(&fit->list[own->order[j]], other);

			if (++met[with] > most) {
				most = met[with];
				mostly = with;
			}
		}
		for (uint32_t j = own->first[i]; j < own->first[i + 1]; j++)
			met[number_of(&fit->list[own->order[j]], other)] = 0;
		apart = (uint32_t)effects[i].count - most + fit->index[other].first[mostly + 1] -
			fit->index[other].first[mostly] - most;
		if (!effects[i].told || apart == 0)
			continue;
		least = spread * sqrt(1 / (double)apart + 1 / (double)effects[i].count);
		if (isfinite(effects[i].error) && effects[i].error < least)
			effects[i].error = least;
	}
	free(met);
	return NP_OK;
}

static void release(struct fit *fit)
{
	for (int by = 0; by < DIMENSIONS; by++) {
		free(fit->index[by].first);
		free(fit->index[by].order);
		free(fit->effect[by]);
	}
	free(fit->rest);
	free(fit->ignored);
	free(fit->scratch);
	free(fit->component);
}

int hist_two_way_fit(const struct hist_observation *list, size_t count,
		     const struct hist_two_way_sizes *sizes, struct hist_two_way *ret,
		     struct np_err *err)
{
	struct fit fit = { .list = list, .count = count };
	struct hist_two_way found = { .role_count = sizes->roles,
				      .machine_count = sizes->machines };
	size_t nodes = sizes->roles + sizes->machines;
	int rc = make_index(&fit, BY_RUN, sizes->runs, err);

	if (rc == NP_OK)
		rc = make_index(&fit, BY_ROLE, sizes->roles, err);
	if (rc == NP_OK)
		rc = make_index(&fit, BY_MACHINE, sizes->machines, err);
	fit.rest = calloc(count + 1, sizeof(double));
	fit.ignored = calloc(count + 1, sizeof(*fit.ignored));
	fit.scratch = calloc(count + nodes + 1, sizeof(double));
	fit.component = calloc(nodes + 1, sizeof(*fit.component));
	found.roles = calloc(sizes->roles + 1, sizeof(*found.roles));
	found.machines = calloc(sizes->machines + 1, sizeof(*found.machines));
	if (rc == NP_OK && (!fit.rest || !fit.ignored || !fit.scratch || !fit.component ||
			    !found.roles || !found.machines))
		rc = np_fail_nomem(err, "effects");
	if (rc == NP_OK) {
		fit.parts = sizes->runs < PARTS ? sizes->runs : PARTS;
		found.parts = fit.parts;
		found.components = find_components(&fit, fit.component);
		found.spread = fit_all(&fit);
		take_effects(&fit, BY_ROLE, found.roles);
		take_effects(&fit, BY_MACHINE, found.machines);
		if (fit.parts >= PARTS_LEAST)
			rc = measure_errors(&fit, &found, err);
	}
	if (rc == NP_OK)
		rc = floor_errors(&fit, BY_ROLE, found.spread, found.roles, err);
	if (rc == NP_OK)
		rc = floor_errors(&fit, BY_MACHINE, found.spread, found.machines, err);
	release(&fit);
	if (rc == NP_OK)
		*ret = found;
	else
		hist_two_way_release(&found);
	return rc;
}

void hist_two_way_release(struct hist_two_way *fit)
{
	free(fit->roles);
	free(fit->machines);
	*fit = (struct hist_two_way){ 0 };
}
