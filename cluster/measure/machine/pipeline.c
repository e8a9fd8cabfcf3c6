/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of a pipeline do with their time, and when it is full. */
#include "npuprof/pipeline.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

#include <math.h>
#include <strings.h>

/* What an operator is to the pipeline. */
enum pipeline_role {
	ROLE_OTHER,
	ROLE_FROM_PREVIOUS, /* an input */
	ROLE_TO_PREVIOUS,   /* a gradient */
	ROLE_FROM_NEXT,     /* a gradient */
	ROLE_TO_NEXT,       /* an input */
	ROLE_PREVIOUS,      /* a batch in which anything may go either way */
	ROLE_NEXT,
	ROLES,
};

/* The messages of a rank in a step, and when its pipeline is full. */
struct pipeline_phases {
	np_ns full;     /* waiting until then belongs to the filling */
	np_ns draining; /* from here on to the draining */
	np_ns last;     /* end of the last message */
	uint32_t micro_batches;
};

/* Who is where, for all ranks. */
struct pipeline_stages {
	const struct np_cluster *cluster;
	const struct np_align *align;
	const struct np_waits *waits;
	int32_t *stage; /* by index in the run; -1 when not known */
	int32_t count;
};

/* A rank with the roles of its operators. */
struct pipeline_rank {
	const struct pipeline_stages *stages;
	const struct np_rank *rank;
	uint32_t index;
	uint8_t *roles; /* enum pipeline_role, by operator */
};

/* --- stages ---------------------------------------------------------------------------------- */

/* A communicator whose members are the ranks of one pipeline, one for each stage. */
static bool lists_stages(const struct np_cluster *cluster,
			 const struct np_communicator *communicator)
{
	const char *name = np_run_text(cluster->run, communicator->pg_name);

	return communicator->members && name && strcasecmp(name, "pp") == 0;
}

/* The stage of any member of a communicator, profiled or not; -1 for none. */
static int32_t stage_of_member(const struct np_cluster *cluster,
			       const struct np_communicator *communicator, size_t local)
{
	int32_t id = communicator->global[local];
	size_t index = np_run_index(cluster->run, id);
	int32_t stage;

	if (index != SIZE_MAX && cluster->run->ranks[index])
		return np_cluster_stage_at(cluster, index);
	if (lists_stages(cluster, communicator))
		return (int32_t)local;
	stage = np_coordinates_of(&cluster->parallel, id).pp;
	return stage >= 0 ? stage : np_cluster_stage(cluster, id);
}

/* --- roles and phases ------------------------------------------------------------------------ */

/* The stage of the other side of a message; -1 when nothing is known. */
static int32_t peer_stage(const struct pipeline_stages *stages, uint32_t rank, uint32_t index)
{
	const struct np_align *align = stages->align;
	const struct np_rank *own = align->run->ranks[rank];
	const struct np_comm_op *op = &own->ops.item[index];
	const struct np_instance *instance =
		np_align_instance(align, np_align_slot(align, rank, index));
	const struct np_communicator *communicator;
	uint16_t peer;

	for (uint32_t i = 0; i < instance->count && instance->count == 2; i++) {
		uint32_t other = align->members[instance->first + i].rank;

		if (other != rank)
			return stages->stage[other];
	}
	communicator = np_cluster_communicator(stages->cluster, own->groups.item[op->group].hash);
	peer = np_align_peer(align, rank, index);
	if (!communicator || peer == 0 || peer == NP_PEERS || peer > communicator->global_count)
		return -1;
	return stage_of_member(stages->cluster, communicator, peer - 1U);
}

static enum pipeline_role role_of(const struct pipeline_stages *stages, uint32_t rank,
				  uint32_t index)
{
	const struct np_comm_op *op = &stages->align->run->ranks[rank]->ops.item[index];
	const char *type = np_strtab_text(stages->align->run->strings, op->type);
	int32_t own = stages->stage[rank];
	int32_t peer = op->p2p ? peer_stage(stages, rank, index) : -1;
	bool next;

	if (peer < 0 || peer == own)
		return ROLE_OTHER;
	/* Interleaved stages close the circle; with two stages it cannot be known. */
	next = stages->count > 2 ? (own + 1) % stages->count == peer : peer > own;
	if (strcasestr(type, "batch"))
		return next ? ROLE_NEXT : ROLE_PREVIOUS;
	if (strcasestr(type, "rec"))
		return next ? ROLE_FROM_NEXT : ROLE_FROM_PREVIOUS;
	return next ? ROLE_TO_NEXT : ROLE_TO_PREVIOUS;
}

/* The roles of a rank's operators, to be freed. */
static int find_roles(const struct pipeline_stages *stages, uint32_t rank,
		      struct pipeline_rank *ret, struct np_err *err)
{
	const struct np_rank *own = stages->align->run->ranks[rank];
	uint8_t *roles = malloc(own->ops.count + 1);

	if (!roles)
		return np_fail_nomem(err, "the pipeline");
	for (uint32_t i = 0; i < own->ops.count; i++)
		roles[i] = own->ops.item[i].p2p ? (uint8_t)role_of(stages, rank, i) : ROLE_OTHER;
	*ret = (struct pipeline_rank){ stages, own, rank, roles };
	return NP_OK;
}

/* The messages of one rank in one step by role, in the order in which they start. */
struct stage_messages {
	uint32_t count[ROLES];
	uint32_t ahead; /* inputs passed on before the first gradient came back */
	np_ns last;
};

static struct stage_messages count_messages(const struct pipeline_rank *rank, uint32_t step)
{
	struct stage_messages messages = { .last = NP_UNKNOWN };
	np_ns gradient = NP_NS_MAX;

	for (size_t i = 0; i < rank->rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];
		uint8_t role = rank->roles[i];

		if (role == ROLE_OTHER || op->step != step)
			continue;
		if (role == ROLE_FROM_NEXT && messages.count[role] == 0)
			gradient = op->end;
		messages.count[role]++;
		/* It is awaited from when the last of these is sent, or a moment earlier. */
		if (role == ROLE_TO_NEXT && op->start < gradient)
			messages.ahead++;
		if (op->end > messages.last)
			messages.last = op->end;
	}
	return messages;
}

/* The k-th message of a role; NULL if there are fewer. */
static const struct np_comm_op *message(const struct pipeline_rank *rank, uint32_t step,
					enum pipeline_role role, uint32_t k)
{
	for (size_t i = 0; i < rank->rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];

		if (rank->roles[i] == role && op->step == step && k-- == 0)
			return op;
	}
	return NULL;
}

/* Which message brings the first gradient, and which one the first of the draining. */
struct marks {
	enum pipeline_role role;
	uint32_t full;
	uint32_t draining; /* UINT32_MAX: none */
	uint32_t micro_batches;
};

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Sends and receives say what they are. */
static bool marks_of_messages(const struct stage_messages *messages, struct marks *ret)
{
	uint32_t gradients = messages->count[ROLE_FROM_NEXT];
	uint32_t ahead = messages->ahead > 0 ? messages->ahead - 1 : 0;

	if (gradients > 0)
		*ret = (struct marks){ ROLE_FROM_NEXT, 0, gradients - less(ahead, gradients),
				       gradients };
	else if (messages->count[ROLE_FROM_PREVIOUS] > 0)
		*ret = (struct marks){ ROLE_FROM_PREVIOUS, 0, UINT32_MAX,
				       messages->count[ROLE_FROM_PREVIOUS] };
	else
		return false;
	return true;
}

/*
 * Batches do not: one forward, one backward is taken for granted. A stage with
 * `ahead` stages behind it exchanges that often before the first gradient comes,
 * and as often at the end for gradients alone.
 */
static bool marks_of_batches(const struct stage_messages *messages, uint32_t ahead,
			     struct marks *ret)
{
	uint32_t next = messages->count[ROLE_NEXT];
	uint32_t previous = messages->count[ROLE_PREVIOUS];

	if (next > 0) {
		ahead = less(ahead, next / 2);
		*ret = (struct marks){ ROLE_NEXT, ahead, next - ahead, next - ahead };
		return true;
	}
	/* The last stage takes in, and exchanges until it has given the last gradient back. */
	*ret = (struct marks){ ROLE_PREVIOUS, 0, UINT32_MAX, previous > 1 ? previous - 1 : 1 };
	return previous > 0;
}

static bool find_phases(const struct pipeline_rank *rank, uint32_t step,
			struct pipeline_phases *ret)
{
	struct stage_messages messages = count_messages(rank, step);
	uint32_t ahead = (uint32_t)(rank->stages->count - 1 - rank->stages->stage[rank->index]);
	const struct np_comm_op *full;
	const struct np_comm_op *draining;
	struct marks marks;

	if (messages.last == NP_UNKNOWN ||
	    (!marks_of_messages(&messages, &marks) && !marks_of_batches(&messages, ahead, &marks)))
		return false;
	full = message(rank, step, marks.role, marks.full);
	draining = message(rank, step, marks.role, marks.draining);
	*ret = (struct pipeline_phases){ .full = full ? full->end : messages.last,
					 .draining = draining ? draining->start : NP_NS_MAX,
					 .last = messages.last,
					 .micro_batches = marks.micro_batches };
	return true;
}

/* --- times ----------------------------------------------------------------------------------- */

static int find_stages(struct pipeline_stages *stages, struct np_err *err)
{
	size_t count = stages->cluster->run->sources.count;

	stages->stage = malloc((count + 1) * sizeof(*stages->stage));
	if (!stages->stage)
		return np_fail_nomem(err, "the pipeline");
	for (size_t i = 0; i < count; i++) {
		stages->stage[i] = np_cluster_stage_at(stages->cluster, i);
		if (stages->stage[i] >= stages->count)
			stages->count = stages->stage[i] + 1;
	}
	if (stages->cluster->parallel.pp > stages->count)
		stages->count = stages->cluster->parallel.pp;
	/* Those of which no rank was profiled count too. */
	for (size_t i = 0; i < stages->cluster->communicators.count; i++) {
		const struct np_communicator *each = &stages->cluster->communicators.item[i];

		if (lists_stages(stages->cluster, each) &&
		    each->member_count > (size_t)stages->count)
			stages->count = (int32_t)each->member_count;
	}
	return NP_OK;
}

/* --- one rank in one step -------------------------------------------------------------------- */

static np_ns overlap(np_ns begin, np_ns end, np_ns from, np_ns to)
{
	np_ns first = begin > from ? begin : from;
	np_ns last = end < to ? end : to;

	return last > first ? last - first : 0;
}

/* [begin, end) of a message, of which it waited until `waited`. */
static void add_message(struct np_pipeline_time *time, const struct pipeline_phases *phases,
			const struct np_exposed *piece, np_ns waited)
{
	np_ns end = waited < piece->end ? waited : piece->end;
	np_ns waiting = end > piece->begin ? end - piece->begin : 0;
	np_ns steady = overlap(piece->begin, end, phases->full, phases->draining);

	time->warmup += waiting - steady;
	time->imbalance += steady;
	time->transfer += piece->end - piece->begin - waiting;
}

/* What of an operator was exposed. False where it is not known how long it waited. */
static bool add_exposed(const struct pipeline_rank *rank, const struct pipeline_phases *phases,
			const struct np_exposed *piece, struct np_pipeline_time *time)
{
	const struct pipeline_stages *stages = rank->stages;
	const struct np_comm_op *op = &rank->rank->ops.item[piece->op];
	np_ns wait = stages->waits->wait[np_align_slot(stages->align, rank->index, piece->op)];
	np_ns length = piece->end - piece->begin;
	np_ns waiting;

	if (wait == NP_UNKNOWN)
		return false;
	if (rank->roles[piece->op] != ROLE_OTHER) {
		add_message(time, phases, piece, op->start + wait);
		return true;
	}
	/* Behind the last message only waiting is a matter of the pipeline. */
	waiting = overlap(piece->begin, piece->end, phases->last, op->start + wait);
	time->tail += waiting;
	time->other_comm += length - waiting;
	time->work += overlap(piece->begin, piece->end, piece->begin, phases->last);
	return true;
}

static void add_segments(const struct np_activity *activity, const struct np_activity_cell *cell,
			 const struct pipeline_phases *phases, struct np_pipeline_time *time)
{
	const struct np_segment *segments = &activity->segments.item[cell->first_segment];

	for (uint32_t i = 0; i < cell->segments; i++) {
		for (uint32_t j = segments[i].first; j < segments[i + 1].first; j++) {
			const struct np_share *share = &activity->shares.item[j];

			switch (np_leaf_kind(share->leaf)) {
			case NP_LEAF_COMPUTE:
				time->useful += share->ns;
				time->work += segments[i].begin < phases->last ? share->ns : 0;
				break;
			case NP_LEAF_COMM:
				break;
			default:
				time->host += share->ns;
				break;
			}
		}
	}
}

static bool measure_cell(const struct pipeline_rank *rank, size_t index,
			 struct np_pipeline_time *ret)
{
	const struct np_activity *activity = &rank->rank->activity;
	const struct np_step_time *step = &rank->rank->times.item[index];
	const struct np_activity_cell *cell = &activity->cells.item[index];
	struct np_pipeline_time time = { .rank = rank->index,
					 .step = rank->rank->steps.item[step->step].id,
					 .device = step->device,
					 .stage = rank->stages->stage[rank->index],
					 .span = cell->end - cell->begin };
	struct pipeline_phases phases;

	if (cell->end <= cell->begin || !find_phases(rank, step->step, &phases))
		return false;
	time.micro_batches = phases.micro_batches;
	for (uint32_t i = 0; i < cell->exposed; i++) {
		if (!add_exposed(rank, &phases, &activity->exposed.item[cell->first_exposed + i],
				 &time))
			return false;
	}
	add_segments(activity, cell, &phases, &time);
	*ret = time;
	return true;
}

/* --- all ------------------------------------------------------------------------------------- */

static int measure_rank(const struct pipeline_stages *stages, uint32_t index,
			struct np_pipeline *pipeline, struct np_err *err)
{
	struct pipeline_rank rank;
	int rc = find_roles(stages, index, &rank, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rank.rank->activity.cells.count && rc == NP_OK; i++) {
		struct np_pipeline_time time;
		struct np_pipeline_time *row;

		if (!measure_cell(&rank, i, &time))
			continue;
		row = np_vec_add(&pipeline->list, err);
		if (row)
			*row = time;
		else
			rc = NP_E_NOMEM;
	}
	free(rank.roles);
	return rc;
}

/* What balanced stages would leave idle: from the mean work of all ranks in the step. */
static void set_ideal(const struct np_pipeline *pipeline, struct np_pipeline_time *times,
		      size_t count)
{
	double work = 0;

	for (size_t i = 0; i < count; i++)
		work += (double)times[i].work / (double)count;
	for (size_t i = 0; i < count; i++) {
		struct np_pipeline_time *time = &times[i];

		time->ideal = llround(work * (pipeline->stages - 1) / time->micro_batches);
		time->excess = time->warmup + time->imbalance + time->transfer + time->host +
			       time->tail - time->ideal;
	}
}

/* Steps are few: put the rows, which are by rank, into their order. */
static int sort_by_step(const struct np_cluster *cluster, struct np_pipeline *pipeline,
			struct np_err *err)
{
	struct np_pipeline_time *sorted =
		malloc((pipeline->list.count + 1) * sizeof(pipeline->list.item[0]));
	size_t count = 0;

	if (!sorted)
		return np_fail_nomem(err, "the pipeline");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		size_t first = count;

		for (size_t j = 0; j < pipeline->list.count; j++) {
			if (pipeline->list.item[j].step == cluster->steps.item[i])
				sorted[count++] = pipeline->list.item[j];
		}
		set_ideal(pipeline, &sorted[first], count - first);
	}
	free(pipeline->list.item);
	pipeline->list.item = sorted;
	pipeline->list.capacity = pipeline->list.count + 1;
	pipeline->list.count = count;
	return NP_OK;
}

int np_pipeline_measure(const struct np_cluster *cluster, const struct np_align *align,
			const struct np_waits *waits, struct np_pipeline *ret, struct np_err *err)
{
	struct pipeline_stages stages = { .cluster = cluster, .align = align, .waits = waits };
	struct np_pipeline pipeline = { 0 };
	int rc = find_stages(&stages, err);

	if (stages.count > 1)
		pipeline.stages = stages.count;
	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		if (stages.count > 1 && cluster->run->ranks[i] && stages.stage[i] >= 0)
			rc = measure_rank(&stages, (uint32_t)i, &pipeline, err);
	}
	if (rc == NP_OK)
		rc = sort_by_step(cluster, &pipeline, err);
	free(stages.stage);
	if (rc < 0) {
		np_pipeline_release(&pipeline);
		return rc;
	}
	*ret = pipeline;
	return NP_OK;
}

void np_pipeline_release(struct np_pipeline *pipeline)
{
	np_vec_release(&pipeline->list);
}

/* --- strips ---------------------------------------------------------------------------------- */

const char *np_strip_kind_name(enum np_strip_kind kind)
{
	static const char *const names[] = {
		[NP_STRIP_USEFUL] = "useful",     [NP_STRIP_OTHER_COMM] = "other_comm",
		[NP_STRIP_WARMUP] = "warmup",     [NP_STRIP_IMBALANCE] = "imbalance",
		[NP_STRIP_TRANSFER] = "transfer", [NP_STRIP_HOST] = "host",
		[NP_STRIP_TAIL] = "tail",
	};

	return names[kind];
}

void np_strips_release(struct np_strips *strips)
{
	for (size_t i = 0; i < strips->list.count; i++)
		np_vec_release(&strips->list.item[i].slices);
	np_vec_release(&strips->list);
}

/* Up to `end`, from where the last slice ended. */
static int draw_until(struct np_strip *strip, np_ns *at, np_ns end, enum np_strip_kind kind,
		      struct np_err *err)
{
	struct np_strip_slice *last =
		strip->slices.count > 0 ? &strip->slices.item[strip->slices.count - 1] : NULL;

	if (end <= *at)
		return NP_OK;
	if (last && last->kind == kind) {
		last->end = end;
	} else {
		struct np_strip_slice *slice = np_vec_add(&strip->slices, err);

		if (!slice)
			return NP_E_NOMEM;
		*slice = (struct np_strip_slice){ *at, end, kind };
	}
	*at = end;
	return NP_OK;
}

static np_ns earlier(np_ns a, np_ns b)
{
	return a < b ? a : b;
}

/* What no operator shows in: kernels, then what is idle. */
static int draw_rest(struct np_strip *strip, np_ns *at, np_ns end, np_ns *computing,
		     struct np_err *err)
{
	np_ns until = earlier(end, *at + *computing);
	int rc;

	*computing -= until > *at ? until - *at : 0;
	rc = draw_until(strip, at, until, NP_STRIP_USEFUL, err);
	return rc == NP_OK ? draw_until(strip, at, end, NP_STRIP_HOST, err) : rc;
}

/* As add_exposed() counts it. */
static int draw_exposed(const struct pipeline_rank *rank, const struct pipeline_phases *phases,
			const struct np_exposed *piece, struct np_strip *strip, np_ns *at,
			struct np_err *err)
{
	const struct pipeline_stages *stages = rank->stages;
	np_ns waited = rank->rank->ops.item[piece->op].start +
		       stages->waits->wait[np_align_slot(stages->align, rank->index, piece->op)];
	np_ns end = earlier(waited, piece->end);
	int rc;

	if (rank->roles[piece->op] == ROLE_OTHER) {
		rc = draw_until(strip, at, earlier(phases->last, piece->end), NP_STRIP_OTHER_COMM,
				err);
		if (rc == NP_OK)
			rc = draw_until(strip, at, end, NP_STRIP_TAIL, err);
		return rc == NP_OK ? draw_until(strip, at, piece->end, NP_STRIP_OTHER_COMM, err)
				   : rc;
	}
	rc = draw_until(strip, at, earlier(phases->full, end), NP_STRIP_WARMUP, err);
	if (rc == NP_OK)
		rc = draw_until(strip, at, earlier(phases->draining, end), NP_STRIP_IMBALANCE, err);
	if (rc == NP_OK)
		rc = draw_until(strip, at, end, NP_STRIP_WARMUP, err);
	return rc == NP_OK ? draw_until(strip, at, piece->end, NP_STRIP_TRANSFER, err) : rc;
}

static np_ns computing_in(const struct np_activity *activity, const struct np_segment *segment)
{
	np_ns sum = 0;

	for (uint32_t i = segment[0].first; i < segment[1].first; i++) {
		if (np_leaf_kind(activity->shares.item[i].leaf) == NP_LEAF_COMPUTE)
			sum += activity->shares.item[i].ns;
	}
	return sum;
}

static int draw_cell(const struct pipeline_rank *rank, size_t index,
		     const struct pipeline_phases *phases, struct np_strip *strip,
		     struct np_err *err)
{
	const struct np_activity *activity = &rank->rank->activity;
	const struct np_activity_cell *cell = &activity->cells.item[index];
	const struct np_exposed *piece = &activity->exposed.item[cell->first_exposed];
	const struct np_exposed *last = piece + cell->exposed;
	np_ns at = cell->begin;
	int rc = NP_OK;

	for (uint32_t i = 0; i < cell->segments && rc == NP_OK; i++) {
		const struct np_segment *segment =
			&activity->segments.item[cell->first_segment + i];
		np_ns end = i + 1 < cell->segments ? segment[1].begin : cell->end;
		np_ns computing = computing_in(activity, segment);

		for (; piece < last && piece->begin < end && rc == NP_OK; piece++) {
			rc = draw_rest(strip, &at, piece->begin, &computing, err);
			if (rc == NP_OK)
				rc = draw_exposed(rank, phases, piece, strip, &at, err);
		}
		if (rc == NP_OK)
			rc = draw_rest(strip, &at, end, &computing, err);
	}
	return rc;
}

/* The step of median length among those that the pipeline was measured in. */
static int median_step(const struct np_pipeline *pipeline, np_str *ret, struct np_err *err)
{
	size_t count = pipeline->list.count;
	np_ns *spans = malloc((count + 1) * sizeof(*spans));
	np_ns median;

	if (!spans)
		return np_fail_nomem(err, "the pipeline");
	for (size_t i = 0; i < count; i++)
		spans[i] = pipeline->list.item[i].span;
	qsort(spans, count, sizeof(*spans), np_by_int64);
	median = spans[(count - 1) / 2];
	free(spans);
	for (size_t i = 0; i < count; i++) {
		if (pipeline->list.item[i].span == median)
			*ret = pipeline->list.item[i].step;
	}
	return NP_OK;
}

/* Are two ranks of one pipeline: equal but for the stage? Where nothing is known, all are. */
static bool same_pipeline(const struct np_coordinates *a, const struct np_coordinates *b)
{
	return a->dp == b->dp && a->tp == b->tp && a->cp == b->cp;
}

static int draw_strip(const struct pipeline_stages *stages, uint32_t index, np_str step,
		      struct np_strips *strips, struct np_err *err)
{
	struct pipeline_rank rank;
	int rc = find_roles(stages, index, &rank, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rank.rank->activity.cells.count && rc == NP_OK; i++) {
		uint32_t number = rank.rank->times.item[i].step;
		struct pipeline_phases phases;
		struct np_pipeline_time time;
		struct np_strip *strip;

		if (rank.rank->steps.item[number].id != step || !measure_cell(&rank, i, &time) ||
		    !find_phases(&rank, number, &phases))
			continue;
		strip = np_vec_add(&strips->list, err);
		if (!strip) {
			rc = NP_E_NOMEM;
			break;
		}
		*strip = (struct np_strip){ .rank = index, .stage = time.stage, .step = step };
		rc = draw_cell(&rank, i, &phases, strip, err);
		break;
	}
	free(rank.roles);
	return rc;
}

int np_pipeline_strips(const struct np_cluster *cluster, const struct np_align *align,
		       const struct np_waits *waits, const struct np_pipeline *pipeline,
		       uint32_t rank, struct np_strips *ret, struct np_err *err)
{
	struct pipeline_stages stages = { .cluster = cluster, .align = align, .waits = waits };
	const struct np_coordinates *of = NULL;
	struct np_strips strips = { 0 };
	np_str step = NP_STR_NONE;
	int32_t next = 0;
	int rc;

	*ret = (struct np_strips){ 0 };
	if (pipeline->list.count == 0)
		return NP_OK;
	of = &cluster->coordinates[rank < cluster->run->sources.count
					   ? rank
					   : pipeline->list.item[0].rank];
	rc = median_step(pipeline, &step, err);
	if (rc == NP_OK)
		rc = find_stages(&stages, err);
	for (; next < stages.count && rc == NP_OK; next++) {
		for (uint32_t i = 0; i < cluster->run->sources.count; i++) {
			if (!cluster->run->ranks[i] || stages.stage[i] != next ||
			    !same_pipeline(of, &cluster->coordinates[i]))
				continue;
			rc = draw_strip(&stages, i, step, &strips, err);
			break;
		}
	}
	free(stages.stage);
	if (rc == NP_OK)
		*ret = strips;
	else
		np_strips_release(&strips);
	return rc;
}
