/* SPDX-License-Identifier: Apache-2.0 */
/* Parses planted faults and applies them to times, links and clocks (plants.h). */
#include "plants.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "npuprof/text.h"
#include "rng.h"

#define SYN_PLANT_INIT \
	((struct syn_plant){ \
		.rank = -1, .peer = -1, .stage = -1, .host = -1, .every = 1, .factor = 1.0 })

/* Arguments are parts separated by ':'; each reader takes one and says where it ended. */
static bool take_integer(const char **text, int64_t *ret)
{
	size_t length = strspn(*text, "0123456789");

	if (!np_text_to_int(*text, length, ret))
		return false;
	*text += length;
	return true;
}

static bool take_real(const char **text, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(*text, &end);
	if (end == *text || errno || !isfinite(*ret))
		return false;
	*text = end;
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* A length of time with its unit, such as -120s, 250us or 5ms. */
static bool take_time(const char **text, np_ns *ret)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1.0 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	double value;

	if (!take_real(text, &value))
		return false;
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(*text, units[i].name, length) != 0)
			continue;
		if (fabs(value * units[i].ns) > 1e15)
			return false;
		*ret = (np_ns)llround(value * units[i].ns);
		*text += length;
		return true;
	}
	return false;
}

static int bad_argument(const struct syn_plant *plant, struct np_err *err)
{
	return np_fail(err, NP_E_USAGE, "--%s takes %s, not '%s'", plant->kind->name,
		       plant->kind->syntax, plant->argument);
}

static int check_end(const struct syn_plant *plant, bool good, const char *rest, struct np_err *err)
{
	if (good && *rest == '\0')
		return NP_OK;
	return bad_argument(plant, err);
}

static int parse_rank_factor(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->rank) && take_char(&text, ':') &&
		    take_real(&text, &plant->factor) && plant->factor > 0.0;

	return check_end(plant, good, text, err);
}

static int parse_stage_factor(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->stage) && take_char(&text, ':') &&
		    take_real(&text, &plant->factor) && plant->factor > 0.0;

	return check_end(plant, good, text, err);
}

static int parse_link_factor(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->rank) && take_char(&text, '-') &&
		    take_integer(&text, &plant->peer) && take_char(&text, ':') &&
		    take_real(&text, &plant->factor) && plant->factor > 0.0;

	return check_end(plant, good, text, err);
}

static int parse_amount(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_real(&text, &plant->amount) && plant->amount >= 0.0;

	return check_end(plant, good, text, err);
}

static int parse_rank_amount(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->rank) && take_char(&text, ':') &&
		    take_real(&text, &plant->amount) && plant->amount >= 0.0;

	return check_end(plant, good, text, err);
}

static int parse_stage_amount(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->stage) && take_char(&text, ':') &&
		    take_real(&text, &plant->amount) && plant->amount >= 0.0;

	return check_end(plant, good, text, err);
}

/* R:US[:every] or all:US[:every] */
static int parse_stall(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool all = strncmp(text, "all:", 4) == 0;
	bool good;

	text += all ? 3 : 0;
	good = (all || take_integer(&text, &plant->rank)) && take_char(&text, ':') &&
	       take_real(&text, &plant->amount) && plant->amount >= 0.0;
	if (good && take_char(&text, ':'))
		good = take_integer(&text, &plant->every) && plant->every > 0;
	return check_end(plant, good, text, err);
}

static int parse_rank_share(const char *text, struct syn_plant *plant, struct np_err *err)
{
	int rc = parse_rank_amount(text, plant, err);

	if (rc == NP_OK && !(plant->amount > 0.0 && plant->amount <= 1.0))
		return bad_argument(plant, err);
	return rc;
}

static int parse_rank_shift(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good = take_integer(&text, &plant->rank) && take_char(&text, ':') &&
		    take_real(&text, &plant->amount) && plant->amount == floor(plant->amount);

	return check_end(plant, good, text, err);
}

/* host1:120s[:ppm] or 3:250us[:ppm] */
static int parse_clock(const char *text, struct syn_plant *plant, struct np_err *err)
{
	bool good;

	if (strncmp(text, "host", 4) == 0) {
		text += 4;
		good = take_integer(&text, &plant->host);
	} else {
		good = take_integer(&text, &plant->rank);
	}
	good = good && take_char(&text, ':') && take_time(&text, &plant->offset_ns);
	if (good && take_char(&text, ':'))
		good = take_real(&text, &plant->drift_ppm) && fabs(plant->drift_ppm) <= 1000.0;
	return check_end(plant, good, text, err);
}

/* TYPE:F; the type is what stands before the colon. */
static int parse_type_factor(const char *text, struct syn_plant *plant, struct np_err *err)
{
	const char *colon = strchr(text, ':');
	bool good = colon && colon > text;

	if (good) {
		text = colon + 1;
		good = take_real(&text, &plant->factor) && plant->factor > 0.0;
	}
	return check_end(plant, good, text, err);
}

static double named_kernels(const struct syn_plant *plant, const char *type)
{
	size_t length = strcspn(plant->argument, ":");

	return strlen(type) == length && strncmp(type, plant->argument, length) == 0 ? plant->factor
										     : 1.0;
}

static double rank_kernels(const struct syn_plant *plant, const struct syn_config *config,
			   const struct syn_place *place, int64_t step)
{
	(void)config;
	(void)step;
	return place->rank == plant->rank ? plant->factor : 1.0;
}

static double stage_kernels(const struct syn_plant *plant, const struct syn_config *config,
			    const struct syn_place *place, int64_t step)
{
	(void)config;
	(void)step;
	return place->pp == plant->stage ? plant->factor : 1.0;
}

/*
 * Sequences of different length: all ranks of one data-parallel index share the work factor. A step
 * has as much work in all as without, or nobody could tell from it how long an even one would take.
 */
static double sequence_kernels(const struct syn_plant *plant, const struct syn_config *config,
			       const struct syn_place *place, int64_t step)
{
	struct syn_key key = { config->seed, SYN_FOR_SEQUENCE, 0, (uint64_t)step, 0 };
	double sum = 0.0;
	double own = 1.0;

	for (int64_t dp = 0; dp < config->dp; dp++) {
		double work;

		key.a = (uint64_t)dp;
		work = exp(plant->amount * syn_normal(&key));
		sum += work;
		if (dp == place->dp)
			own = work;
	}
	return own * (double)config->dp / sum;
}

/* A cable hurts both directions. */
static double pair_link(const struct syn_plant *plant, int32_t src, int32_t dst)
{
	bool hit = (src == plant->rank && dst == plant->peer) ||
		   (src == plant->peer && dst == plant->rank);

	return hit ? plant->factor : 1.0;
}

static double sender_link(const struct syn_plant *plant, int32_t src, int32_t dst)
{
	(void)dst;
	return src == plant->rank ? plant->factor : 1.0;
}

static double receiver_link(const struct syn_plant *plant, int32_t src, int32_t dst)
{
	(void)src;
	return dst == plant->rank ? plant->factor : 1.0;
}

static np_ns rank_delay(const struct syn_plant *plant, int32_t rank)
{
	return rank == plant->rank ? (np_ns)llround(plant->amount * 1e3) : 0;
}

/* The every-th step and its multiples, counted from the first that was recorded. */
static np_ns loader_stall(const struct syn_plant *plant, int32_t rank, int64_t step)
{
	bool hit = (plant->rank < 0 || plant->rank == rank) && (step + 1) % plant->every == 0;

	return hit ? (np_ns)llround(plant->amount * 1e3) : 0;
}

static bool clock_applies(const struct syn_plant *plant, const struct syn_place *place)
{
	return place->host == plant->host || place->rank == plant->rank;
}

const struct syn_plant_kind syn_plant_kinds[] = {
	{ .name = "slow-rank",
	  .syntax = "R:FACTOR",
	  .help = "kernels of rank R take FACTOR times as long",
	  .parse = parse_rank_factor,
	  .kernel_factor = rank_kernels },
	{ .name = "slow-stage",
	  .syntax = "S:FACTOR",
	  .help = "kernels of pipeline stage S take FACTOR times as long",
	  .parse = parse_stage_factor,
	  .kernel_factor = stage_kernels },
	{ .name = "seq-imbalance",
	  .syntax = "X",
	  .help = "each step spreads the work unevenly over dp indices, and another way (log-normal, sigma X)",
	  .parse = parse_amount,
	  .kernel_factor = sequence_kernels },
	{ .name = "expert-skew",
	  .syntax = "X",
	  .help = "tokens are spread unevenly over experts (log-normal weights, sigma X)",
	  .parse = parse_amount,
	  .scalar = SYN_EXPERT_SKEW },
	{ .name = "slow-link",
	  .syntax = "A-B:FACTOR",
	  .help = "transfers between ranks A and B, both ways, take FACTOR times as long",
	  .parse = parse_link_factor,
	  .link_factor = pair_link },
	{ .name = "slow-sender",
	  .syntax = "R:FACTOR",
	  .help = "transfers with source rank R take FACTOR times as long",
	  .parse = parse_rank_factor,
	  .link_factor = sender_link },
	{ .name = "slow-receiver",
	  .syntax = "R:FACTOR",
	  .help = "transfers with destination rank R take FACTOR times as long",
	  .parse = parse_rank_factor,
	  .link_factor = receiver_link },
	{ .name = "clock-skew",
	  .syntax = "HOST|RANK:OFFSET[:PPM]",
	  .help = "written times of host1, or of rank 3, are off: host1:120s, 3:-250us:20",
	  .parse = parse_clock,
	  .clock_applies = clock_applies },
	{ .name = "host-gap",
	  .syntax = "R:US",
	  .help = "before each layer the host of rank R drains its queue and stops for US",
	  .parse = parse_rank_amount,
	  .host_delay = rank_delay },
	{ .name = "between",
	  .syntax = "US",
	  .help = "between two steps all hosts wait for their devices and stop for US",
	  .parse = parse_amount,
	  .scalar = SYN_BETWEEN },
	{ .name = "dataloader",
	  .syntax = "R|all:US[:EVERY]",
	  .help = "the data loader of rank R, or of all, takes US longer in every EVERY-th step",
	  .parse = parse_stall,
	  .data_stall = loader_stall },
	{ .name = "drop-ops",
	  .syntax = "R:COUNT|SHARE",
	  .help = "that many operators of rank R, or that share (below 1), are not written",
	  .parse = parse_rank_amount,
	  .scalar = SYN_DROP },
	{ .name = "shift-ordinals",
	  .syntax = "R:K",
	  .help = "ordinals in operator names of rank R are moved by K",
	  .parse = parse_rank_shift,
	  .scalar = SYN_SHIFT },
	{ .name = "truncate",
	  .syntax = "R:SHARE",
	  .help = "the capture of rank R ends after that share of its length",
	  .parse = parse_rank_share,
	  .scalar = SYN_TRUNCATE },
	{ .name = "slow-type",
	  .syntax = "TYPE:FACTOR",
	  .help = "kernels of this operator type take FACTOR times as long",
	  .parse = parse_type_factor,
	  .type_factor = named_kernels },
	{ .name = "extra-casts",
	  .syntax = "N",
	  .help = "N more Cast kernels before each layer of the forward pass",
	  .parse = parse_amount,
	  .scalar = SYN_EXTRA_CASTS },
	{ .name = "reshape",
	  .syntax = "FACTOR",
	  .help = "the first projection of each layer has another shape and takes FACTOR times as "
		  "long",
	  .parse = parse_amount,
	  .scalar = SYN_RESHAPE },
	{ .name = "leak",
	  .syntax = "R:BYTES",
	  .help = "rank R never gives BYTES back in each step (needs --memory or --snapshot)",
	  .parse = parse_rank_amount,
	  .scalar = SYN_LEAK },
	{ .name = "fragment",
	  .syntax = "R:BYTES",
	  .help = "rank R takes four buffers of BYTES in each step, an eighth larger each time, so "
		  "that those it kept are too small (needs --memory or --snapshot)",
	  .parse = parse_rank_amount,
	  .scalar = SYN_FRAGMENT },
	{ .name = "stage-memory",
	  .syntax = "S:BYTES",
	  .help = "ranks of stage S hold BYTES more from the first step on (needs --memory or "
		  "--snapshot)",
	  .parse = parse_stage_amount,
	  .scalar = SYN_STAGE_MEMORY },
};

const size_t syn_plant_kind_count = NP_COUNT(syn_plant_kinds);

int syn_plants_add(struct syn_config *config, const struct syn_plant_kind *kind,
		   const char *argument, struct np_err *err)
{
	struct syn_plant *plant = np_vec_add(&config->plants, err);

	if (!plant)
		return NP_E_NOMEM;
	*plant = SYN_PLANT_INIT;
	plant->kind = kind;
	plant->argument = argument;
	return kind->parse(argument, plant, err);
}

static int check_below(const struct syn_plant *plant, int64_t value, int64_t limit,
		       const char *what, struct np_err *err)
{
	if (value < limit)
		return NP_OK;
	return np_fail(err, NP_E_USAGE, "--%s %s: there is no %s %" PRId64 ", only 0 to %" PRId64,
		       plant->kind->name, plant->argument, what, value, limit - 1);
}

int syn_plants_check(const struct syn_config *config, struct np_err *err)
{
	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];
		int rc = check_below(plant, plant->rank, config->ranks, "rank", err);

		if (rc == NP_OK)
			rc = check_below(plant, plant->peer, config->ranks, "rank", err);
		if (rc == NP_OK)
			rc = check_below(plant, plant->stage, config->pp, "stage", err);
		if (rc == NP_OK)
			rc = check_below(plant, plant->host, config->hosts, "host", err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

double syn_kernel_factor(const struct syn_config *config, const struct syn_place *place,
			 int64_t step)
{
	double factor = 1.0;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->kernel_factor)
			factor *= plant->kind->kernel_factor(plant, config, place, step);
	}
	return factor;
}

double syn_type_factor(const struct syn_config *config, const char *type)
{
	double factor = 1.0;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->type_factor)
			factor *= plant->kind->type_factor(plant, type);
	}
	return factor;
}

double syn_link_factor(const struct syn_config *config, int32_t src, int32_t dst)
{
	double factor = 1.0;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->link_factor)
			factor *= plant->kind->link_factor(plant, src, dst);
	}
	return factor;
}

np_ns syn_host_delay(const struct syn_config *config, int32_t rank)
{
	np_ns delay = 0;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->host_delay)
			delay += plant->kind->host_delay(plant, rank);
	}
	return delay;
}

np_ns syn_data_stall(const struct syn_config *config, int32_t rank, int64_t step)
{
	np_ns stall = 0;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->data_stall)
			stall += plant->kind->data_stall(plant, rank, step);
	}
	return stall;
}

static struct syn_clock clock_at(const struct syn_config *config, const struct syn_place *place)
{
	/* Parts of a layout are minutes apart. */
	struct syn_clock clock = { .offset_ns = config->part * INT64_C(60000000000) };

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (!plant->kind->clock_applies || !plant->kind->clock_applies(plant, place))
			continue;
		clock.offset_ns += plant->offset_ns;
		clock.drift_ppm += plant->drift_ppm;
	}
	return clock;
}

struct syn_clock syn_clock_of_rank(const struct syn_config *config, int32_t rank)
{
	struct syn_place place = syn_place_of(config, rank);

	return clock_at(config, &place);
}

struct syn_clock syn_clock_of_host(const struct syn_config *config, int32_t host)
{
	/* No plant is about rank -2: what remains is the host's own. */
	struct syn_place place = { .rank = -2, .host = host };

	return clock_at(config, &place);
}

np_ns syn_clock_read(const struct syn_clock *clock, np_ns true_ns)
{
	/* Whole parts per billion keep the arithmetic exact and monotonic. */
	int64_t ppb = llround(clock->drift_ppm * 1e3);
	np_ns elapsed = true_ns - SYN_EPOCH_NS;
	np_ns billions = elapsed / 1000000000;
	np_ns rest = elapsed % 1000000000;

	return true_ns + clock->offset_ns + billions * ppb + rest * ppb / 1000000000;
}

double syn_scalar(const struct syn_config *config, enum syn_scalar scalar, int32_t rank,
		  double none)
{
	double sum = 0.0;
	bool planted = false;

	for (size_t i = 0; i < config->plants.count; i++) {
		const struct syn_plant *plant = &config->plants.item[i];

		if (plant->kind->scalar != scalar || (plant->rank >= 0 && plant->rank != rank) ||
		    (plant->stage >= 0 && plant->stage != syn_place_of(config, rank).pp))
			continue;
		sum += plant->amount;
		planted = true;
	}
	return planted ? sum : none;
}
