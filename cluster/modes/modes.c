/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/ranges.h"
#include "npuprof/text.h"

/*
 * Modes whose tables the merged database has anyway come first; they have no
 * code of their own here. The order is that of np_mode_names.
 */
static const struct mode always_all = { .name = "all", .summary = "what cluster shows by itself" };
static const struct mode always_time = { .name = "communication_time",
					 .summary = "times and bandwidth of operators" };
static const struct mode always_matrix = { .name = "communication_matrix",
					   .summary = "what went over each link" };
static const struct mode always_map = { .name = "communication_group_map",
					.summary = "communicators and their ranks" };
static const struct mode always_time_sum = { .name = "communication_time_sum",
					     .summary = "the same as communication_time" };
static const struct mode always_matrix_sum = { .name = "communication_matrix_sum",
					       .summary = "the same as communication_matrix" };

enum {
	MODE_ALL,
	MODE_TIME,
	MODE_MATRIX,
	MODE_MAP,
	MODE_TIME_SUM,
	MODE_MATRIX_SUM,
	MODE_FIRST_OWN,
};

static const struct mode *const modes_table[] = {
	[MODE_ALL] = &always_all,
	[MODE_TIME] = &always_time,
	[MODE_MATRIX] = &always_matrix,
	[MODE_MAP] = &always_map,
	[MODE_TIME_SUM] = &always_time_sum,
	[MODE_MATRIX_SUM] = &always_matrix_sum,
	&mode_cluster_time_summary,
	&mode_slow_rank,
	&mode_slow_link,
	&mode_hccl_sum,
	&mode_compute_op_sum,
	&mode_cann_api_sum,
	&mode_free_analysis,
	&mode_communication_bottleneck,
	&mode_computational_op_masking,
	&mode_ep_load_balance,
	&mode_freq_analysis,
	&mode_mstx_sum,
	&mode_module_statistic,
	&mode_operator_mfu,
	&mode_p2p_pairing,
	&mode_pp_chart,
	&mode_export_summary,
};

#define MODES NP_COUNT(modes_table)

const char *const np_mode_names[] = {
	"all",
	"communication_time",
	"communication_matrix",
	"communication_group_map",
	"communication_time_sum",
	"communication_matrix_sum",
	"cluster_time_summary",
	"slow_rank",
	"slow_link",
	"hccl_sum",
	"compute_op_sum",
	"cann_api_sum",
	"free_analysis",
	"communication_bottleneck",
	"computational_op_masking",
	"ep_load_balance",
	"freq_analysis",
	"mstx_sum",
	"module_statistic",
	"operator_mfu",
	"p2p_pairing",
	"pp_chart",
	"export_summary",
	NULL,
};

_Static_assert(NP_COUNT(np_mode_names) == MODES + 1, "every mode has a name");

/* Names of the incumbent that are no modes here, and the way to what they show. */
static const struct {
	const char *name;
	const char *instead;
} elsewhere[] = {
	{ "cluster_time_compare_summary",
	  "'npuprof compare BASE NEW' explains the difference between two runs" },
	{ "mstx2commop",
	  "collect at level 0 or above, which records communication operators; profiles are"
	  " never rewritten" },
	{ "calibrate_npu_gpu",
	  "'npuprof compare GPU NPU' compares a trace of PyTorch on a GPU with a profile of an NPU;"
	  " databases of Nsight Systems are not read" },
};

const char *np_mode_summary(const char *name)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(modes_table[i]->name, name) == 0)
			return modes_table[i]->summary;
	}
	return NULL;
}

const char *np_modes_elsewhere(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",");

		for (size_t i = 0; i < NP_COUNT(elsewhere); i++) {
			if (strlen(elsewhere[i].name) == length &&
			    memcmp(elsewhere[i].name, text, length) == 0)
				return elsewhere[i].instead;
		}
		text += length + (text[length] != '\0');
	}
	return NULL;
}

static int unknown_mode(const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	const char *meant = np_text_closest(name, np_mode_names, MODES);

	if (meant)
		return np_fail(err, NP_E_USAGE, "no mode '%s'; did you mean '%s'?", name, meant);
	for (size_t i = 0; i < MODES; i++)
		np_buf_printf(&list, "%s%s", i ? ", " : "", np_mode_names[i]);
	return np_fail(err, NP_E_USAGE, "no mode '%s'; there are %s", name, list.text);
}

static int parse_one(const char *text, size_t length, uint64_t *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	for (size_t i = 0; i < MODES; i++) {
		if (strlen(np_mode_names[i]) == length &&
		    memcmp(np_mode_names[i], text, length) == 0) {
			*ret |= UINT64_C(1) << i;
			return NP_OK;
		}
	}
	np_text_safe(&safe, text, length);
	return unknown_mode(safe.text, err);
}

int np_modes_parse(const char *text, uint64_t *ret, struct np_err *err)
{
	uint64_t modes = 0;
	int rc = NP_OK;

	while (rc == NP_OK) {
		size_t length = strcspn(text, ",");

		rc = parse_one(text, length, &modes, err);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	if (rc == NP_OK)
		*ret = modes;
	return rc;
}

static bool has(uint64_t modes, size_t mode)
{
	return (modes >> mode & 1) != 0;
}

bool np_modes_want_report(uint64_t modes)
{
	return has(modes, MODE_ALL);
}

bool np_modes_want_times(uint64_t modes)
{
	return has(modes, MODE_ALL) || has(modes, MODE_TIME) || has(modes, MODE_TIME_SUM);
}

bool np_modes_want_matrix(uint64_t modes)
{
	return has(modes, MODE_ALL) || has(modes, MODE_MATRIX) || has(modes, MODE_MATRIX_SUM);
}

bool np_modes_want_table(uint64_t modes, const char *table)
{
	static const struct {
		size_t mode;
		const char *table;
	} about[] = {
		{ MODE_TIME, "ClusterCommunicationTime" },
		{ MODE_TIME, "ClusterCommunicationBandwidth" },
		{ MODE_TIME_SUM, "ClusterCommunicationTime" },
		{ MODE_TIME_SUM, "ClusterCommunicationBandwidth" },
		{ MODE_MATRIX, "ClusterCommunicationMatrix" },
		{ MODE_MATRIX_SUM, "ClusterCommunicationMatrix" },
		{ MODE_MAP, "CommunicationGroupMapping" },
	};

	for (size_t i = 0; i < NP_COUNT(about); i++) {
		if (has(modes, about[i].mode) && strcmp(about[i].table, table) == 0)
			return true;
	}
	return false;
}

/* --- running --------------------------------------------------------------------------------- */

/* One mode while it runs. */
struct running {
	const struct mode *mode;
	void *prepared;
	void **results;    /* by index of the rank */
	unsigned *missing; /* likewise: sections that the rank lacks */
};

struct work {
	struct np_modes *modes;
	struct running list[MODES];
	size_t count;
	bool reduces;        /* some mode looks at ranks one by one */
	struct np_err *errs; /* by index of the rank */
	struct np_notes *notes;
};

static bool is_skipped(const struct running *running, size_t index)
{
	return !running->mode->reduce ||
	       (running->mode->skips && running->mode->skips(running->prepared, index));
}

/* Sections of which the loaded rank tells if it has them, so that nobody need look. */
#define KNOWN (NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK)

/* Those of them that it does not have. */
static unsigned known_to_lack(const struct np_run *run, size_t index)
{
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];
	unsigned absent = 0;

	/* Of a trace nobody has looked for marks. */
	if (!rank || !source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_TRACE] ||
	    source->file[NP_FILE_GPU_TRACE])
		return 0;
	if (!(rank->contents & NP_HAS_MARKS))
		absent |= NP_DETAIL_MARKS;
	if (!(rank->contents & NP_HAS_FRAMEWORK_CALLS))
		absent |= NP_DETAIL_FRAMEWORK;
	return absent;
}

/*
 * The sections that some mode wants of this rank; where it will not run, only those of
 * which it is not known if they are there.
 */
static unsigned wanted_of(const struct work *work, size_t index)
{
	unsigned absent = known_to_lack(work->modes->run, index);
	unsigned wants = 0;

	for (size_t i = 0; i < work->count; i++) {
		const struct mode *mode = work->list[i].mode;

		if (!is_skipped(&work->list[i], index))
			wants |=
				mode->needs & absent ? mode->needs & ~(unsigned)KNOWN : mode->wants;
	}
	return wants;
}

/*
 * What a mode needs and a rank lacks. Operators are the rank's own, and of calls
 * the profiler's sums do unless single steps are asked for.
 */
static unsigned lacking(const struct mode *mode, const struct mode_rank *rank)
{
	unsigned absent = mode->needs & known_to_lack(rank->run, rank->index);
	unsigned sections = rank->detail ? rank->detail->has : 0;

	if (rank->rank->ops.count)
		sections |= NP_DETAIL_OPS;
	if (rank->rank->calls.count && !rank->modes->options.steps_chosen)
		sections |= NP_DETAIL_CALLS;
	/* Where one of them is absent, the other was not read. */
	if (absent)
		sections |= KNOWN & ~absent;
	return mode->needs & ~sections;
}

static int reduce_rank(struct work *work, struct mode_rank *rank)
{
	int rc = NP_OK;

	for (size_t i = 0; i < work->count && rc == NP_OK; i++) {
		struct running *running = &work->list[i];

		if (is_skipped(running, rank->index))
			continue;
		running->missing[rank->index] = lacking(running->mode, rank);
		if (running->missing[rank->index] == 0)
			rc = running->mode->reduce(rank, running->prepared,
						   &running->results[rank->index]);
	}
	return rc;
}

static void work_on(void *context, size_t index)
{
	struct work *work = context;
	struct np_run *run = work->modes->run;
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct mode_rank rank = { .modes = work->modes,
				  .run = run,
				  .rank = run->ranks[index],
				  .index = index,
				  .err = &work->errs[index] };
	unsigned wants = wanted_of(work, index);

	if (!rank.rank)
		return;
	if (wants != 0) {
		if (np_detail_load(run, index, wants, &detail, rank.err) < 0)
			return;
		rank.detail = detail;
		rank.texts = calloc(np_strtab_count(detail->strings) + 2, sizeof(np_str));
		if (!rank.texts)
			(void)np_fail_nomem(rank.err, "texts");
		else
			(void)!reduce_rank(work, &rank);
		np_notes_move(&work->notes[index], &detail->notes);
	} else {
		(void)!reduce_rank(work, &rank);
	}
	mode_release_computing(&rank);
	free(rank.texts);
}

static int work_on_all(struct work *work, const struct np_workers *workers, struct np_err *err)
{
	const struct np_run *run = work->modes->run;
	size_t count = run->sources.count;
	struct np_detail_want *list = malloc((count + 1) * sizeof(*list));
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	int rc;

	if (!list)
		return np_fail_nomem(err, "the modes");
	for (size_t i = 0; i < count; i++)
		list[i] = (struct np_detail_want){ run, i, wanted_of(work, i) };
	rc = np_details_begin(list, count, workers->threads, &details, err);
	free(list);
	if (rc == NP_OK)
		np_workers_run(workers, count, work_on, work);
	return rc;
}

/* --- what ranks lack ------------------------------------------------------------------------- */

static const struct {
	unsigned section;
	const char *name;
	const char *way;
} sections[] = {
	{ NP_DETAIL_KERNELS, "kernels", "" },
	{ NP_DETAIL_TASKS, "tasks of the device", " (collect a trace or a database)" },
	{ NP_DETAIL_CALLS, "calls of CANN", " (collect a database, or a trace at Level1)" },
	{ NP_DETAIL_FRAMEWORK, "calls of the framework", " (profile the CPU activity too)" },
	{ NP_DETAIL_MARKS, "mstx marks", " (switch on mstx)" },
	{ NP_DETAIL_FREQUENCY, "samples of the AI core frequency", "" },
	{ NP_DETAIL_DEVICE, "information about the device", "" },
	{ NP_DETAIL_OPS, "communication operators", "" },
};

static const char *section_names(unsigned missing, struct np_buf *buf)
{
	for (size_t i = 0; i < NP_COUNT(sections); i++) {
		if (missing & sections[i].section)
			np_buf_printf(buf, "%sno %s%s", buf->length ? ", " : "", sections[i].name,
				      sections[i].way);
	}
	return buf->length ? buf->text : "what it needs is not there";
}

/* Add which ranks lack just this. */
static void put_lacking(const struct np_run *run, const struct running *running, unsigned missing,
			int64_t *list, struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (running->missing[i] == missing)
			list[count++] = run->ranks[i]->id;
	}
	np_ranges_format(&ranks, list, count);
	np_buf_printf(buf, "%snot for rank%s %s: %s", buf->length ? "; " : "",
		      count == 1 ? "" : "s", ranks.text, section_names(missing, &names));
}

static bool is_first_with(const struct running *running, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (running->missing[i] == running->missing[index])
			return false;
	}
	return true;
}

/* One note per mode: which ranks it could not use, and what they lack. */
static void note_missing(struct work *work, struct running *running)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_run *run = work->modes->run;
	int64_t *list = malloc((run->sources.count + 1) * sizeof(*list));

	for (size_t i = 0; list && i < run->sources.count; i++) {
		const struct mode_rank rank = {
			.modes = work->modes, .run = run, .rank = run->ranks[i], .index = i
		};

		if (rank.rank && !running->mode->reduce)
			running->missing[i] = lacking(running->mode, &rank);
		if (running->missing[i] != 0 && is_first_with(running, i))
			put_lacking(run, running, running->missing[i], list, &buf);
	}
	if (buf.length)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    running->mode->name, "%s", buf.text);
	free(list);
}

/* --- everything ------------------------------------------------------------------------------ */

static int add_running(struct work *work, const struct mode *mode, struct np_err *err)
{
	struct running *running = &work->list[work->count++];
	size_t ranks = work->modes->run->sources.count;

	running->mode = mode;
	running->results = calloc(ranks + 1, sizeof(*running->results));
	running->missing = calloc(ranks + 1, sizeof(*running->missing));
	if (!running->results || !running->missing)
		return np_fail_nomem(err, mode->name);
	work->reduces |= mode->reduce != NULL;
	return mode->prepare ? mode->prepare(work->modes, &running->prepared, err) : NP_OK;
}

static int start(struct work *work, struct np_err *err)
{
	size_t ranks = work->modes->run->sources.count;
	int rc = NP_OK;

	work->errs = calloc(ranks + 1, sizeof(*work->errs));
	work->notes = calloc(ranks + 1, sizeof(*work->notes));
	if (!work->errs || !work->notes)
		return np_fail_nomem(err, "the modes");
	for (size_t i = MODE_FIRST_OWN; i < MODES && rc == NP_OK; i++) {
		if (has(work->modes->options.modes, i))
			rc = add_running(work, modes_table[i], err);
	}
	return rc;
}

/* A rank of which the detail cannot be had costs itself; memory costs all. */
static int check_ranks(struct work *work, struct np_err *err)
{
	struct np_run *run = work->modes->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		np_notes_move(&run->notes, &work->notes[i]);
		if (work->errs[i].code == NP_OK)
			continue;
		if (work->errs[i].code == NP_E_NOMEM || work->errs[i].code == NP_E_IO)
			return np_fail(err, work->errs[i].code, "%s", work->errs[i].text);
		np_note_add(&run->notes, NP_NOTE_SKIPPED, run->sources.item[i].rank,
			    run->sources.item[i].dir, "modes", "%s", work->errs[i].text);
	}
	return NP_OK;
}

static int merge(struct work *work, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < work->count && rc == NP_OK; i++) {
		note_missing(work, &work->list[i]);
		rc = work->list[i].mode->merge(work->modes, work->list[i].prepared,
					       work->list[i].results, err);
	}
	return rc;
}

static void finish(struct work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		struct running *running = &work->list[i];

		for (size_t j = 0; running->results && j < work->modes->run->sources.count; j++) {
			if (running->results[j] && running->mode->release)
				running->mode->release(running->results[j]);
		}
		if (running->prepared && running->mode->unprepare)
			running->mode->unprepare(running->prepared);
		free(running->results);
		free(running->missing);
	}
	free(work->errs);
	free(work->notes);
}

int np_modes_run(const struct np_modes_input *input, const struct np_modes_options *options,
		 const struct np_workers *workers, struct np_modes **ret, struct np_err *err)
{
	NP_CLEANUP(np_modes_freep) struct np_modes *modes = calloc(1, sizeof(*modes));
	struct work work = { 0 };
	int rc;

	if (modes)
		modes->arena = np_arena_new();
	if (!modes || !modes->arena)
		return np_fail_nomem(err, "the modes");
	modes->run = input->run;
	modes->cluster = input->cluster;
	modes->align = input->align;
	modes->options = *options;
	work.modes = modes;
	rc = start(&work, err);
	if (rc == NP_OK && work.reduces)
		rc = work_on_all(&work, workers, err);
	if (rc == NP_OK)
		rc = check_ranks(&work, err);
	if (rc == NP_OK)
		rc = merge(&work, err);
	finish(&work);
	modes->options.directory = NULL; /* the caller's, and not needed any more */
	if (rc == NP_OK)
		*ret = NP_STEAL(modes);
	return rc;
}

void np_modes_free(struct np_modes *modes)
{
	if (!modes)
		return;
	for (struct np_mode_table *table = modes->tables; table; table = table->next)
		free(table->cells);
	np_arena_free(modes->arena);
	free(modes);
}

void np_modes_freep(struct np_modes **modes)
{
	np_modes_free(*modes);
	*modes = NULL;
}
