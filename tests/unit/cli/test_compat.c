/* SPDX-License-Identifier: Apache-2.0 */
/* Old command lines become ours: what each spelling turns into, and what is said of the rest. */
#include "cli/compat/compat.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"

#include <stdlib.h>

#include "np_test.h"

enum {
	WORDS_MOST = 32
};

/* A line split at blanks; each word may hold any other character. */
struct split {
	char text[512];
	const char *word[WORDS_MOST];
	int count;
};

static void split_line(struct split *ret, const char *line)
{
	char *rest = ret->text;
	char *word;

	(void)snprintf(ret->text, sizeof(ret->text), "%s", line);
	ret->count = 0;
	while ((word = strsep(&rest, " ")))
		ret->word[ret->count++] = word;
}

/* Translate a line, the program first, and put it back together. */
static int translate(const char *line, char *ret, size_t size, struct compat_line *own,
		     struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	struct split split;
	int rc;

	split_line(&split, line);
	rc = compat_translate(split.word[0], split.count - 1, split.word + 1, own, err);
	for (size_t i = 0; i < own->words.count && rc == NP_OK; i++)
		np_buf_printf(&buf, "%s%s", i ? " " : "", own->words.item[i]);
	(void)snprintf(ret, size, "%s", buf.length ? buf.text : "");
	np_buf_release(&buf);
	return rc;
}

struct translation {
	const char *from;
	const char *to;
};

static void check_all(const struct translation *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct np_err err = NP_ERR_INIT;
		struct compat_line line;
		char ours[1024];

		assert_int_equal(translate(all[i].from, ours, sizeof(ours), &line, &err), NP_OK);
		assert_string_equal(ours, all[i].to);
		compat_release(&line);
	}
}

static void what_is_ours_passes_unchanged(void **state)
{
	static const struct translation all[] = {
		{ "npuprof", "" },
		{ "npuprof -h", "-h" },
		{ "npuprof --version", "--version" },
		{ "npuprof cluster -d D -m all,hccl_sum -o O",
		  "cluster -d D -m all,hccl_sum -o O" },
		{ "npuprof cluster -dD", "cluster -dD" },
		{ "npuprof cluster -d", "cluster -d" },
		{ "npuprof cluster -m -d D", "cluster -m -d D" },
		{ "npuprof cluster --parallel-types dp+edp,ep D",
		  "cluster --parallel-types dp+edp,ep D" },
		{ "npuprof advisor all_of_it", "advisor all_of_it" },
		{ "npuprof advisor ./all", "advisor ./all" },
		{ "npuprof advisor", "advisor" },
		{ "npuprof compare B N -o O", "compare B N -o O" },
		{ "npuprof info -d compare", "info -d compare" },
		{ "npuprof collect --export after -- app --force",
		  "collect --export after -- app --force" },
		{ "npuprof cluster D -- --force", "cluster D -- --force" },
		{ "npuprof nosuch --force", "nosuch --force" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

static void the_old_spellings_of_the_front_door_work(void **state)
{
	static const struct translation all[] = {
		{ "npuprof -v", "-V" },
		{ "npuprof -H", "-h" },
		{ "npuprof version", "--version" },
		{ "npuprof -d D", "cluster -d D" },
		{ "npuprof -v -d D", "cluster -v -d D" },
		{ "npuprof auto-completion Bash", "completion bash" },
		{ "npuprof auto-completion", "completion bash" },
		{ "npuprof completion ZSH", "completion zsh" },
		{ "npuprof completion", "completion" },
		{ "/opt/bin/msprof-analyze advisor", "advisor --vendor-files -h" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

static void options_of_cluster_are_ours(void **state)
{
	static const struct translation all[] = {
		{ "npuprof cluster --profiling_path D --output_path=O",
		  "cluster --dir=D --output=O" },
		{ "npuprof -m hccl_sum -d D --rank_list 0,1 --step_id=1",
		  "cluster -m hccl_sum -d D --ranks=0,1 --steps=1" },
		{ "npuprof -m mstx_sum -d D --step_id -1", "cluster -m mstx_sum -d D" },
		{ "npuprof cluster D --export text", "cluster D --export-type=text" },
		{ "npuprof cluster D --type text", "cluster D --export-type=text" },
		{ "npuprof cluster D --export_type text",
		  "cluster --vendor-files D --export-type=text" },
		{ "msprof-analyze -d D", "cluster --vendor-files -d D" },
		{ "npuprof -m x -d N --bp B", "cluster -m x -d N --base=B" },
		{ "npuprof -m x -d N -bp=B", "cluster -m x -d N --base=B" },
		/* One row of two dimensions, one of one. */
		{ "npuprof cluster D --parallel_types edp,dp;dp",
		  "cluster D --parallel-types=edp+dp,dp" },
		{ "npuprof cluster D --parallel_types edp,dp",
		  "cluster D --parallel-types=edp+dp" },
		{ "npuprof cluster D --parallel-types=edp;dp",
		  "cluster D --parallel-types=edp,dp" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

static void options_of_advisor_are_ours(void **state)
{
	static const struct translation all[] = {
		{ "npuprof advisor all -d D -bp B", "advisor --vendor-files -d D --base=B" },
		{ "npuprof advisor computation -d D",
		  "advisor --vendor-files --dimension=computation,overall,comparison -d D" },
		{ "npuprof advisor schedule -d D",
		  "advisor --vendor-files --dimension=schedule,overall,comparison -d D" },
		{ "npuprof advisor -d D -l cn", "advisor -d D --lang=zh" },
		{ "npuprof advisor -d D -cv 8.0.RC1 -tv 2.1.0",
		  "advisor -d D --cann-version=8.0.RC1 --torch-version=2.1.0" },
		{ "npuprof advisor -d D --debug", "advisor -d D -v" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

static void compare_takes_the_new_run_first_as_before(void **state)
{
	static const struct translation all[] = {
		{ "npuprof compare -d N -bp B",
		  "compare --vendor-files --view=operator,module,communication,memory,kernel,api "
		  "-- B N" },
		{ "npuprof compare -bp B -d N --enable_profiling_compare",
		  "compare --vendor-files -- B N" },
		{ "npuprof compare -d N -bp B --enable_operator_compare --disable_module",
		  "compare --vendor-files --view=operator -- B N" },
		{ "npuprof compare -d N -bp B --enable_kernel_compare --use_kernel_type",
		  "compare --vendor-files --view=kernel-type -- B N" },
		{ "npuprof compare -d N -bp B --enable_api_compare --base_step=1 --comparison_step 2",
		  "compare --vendor-files --base-steps=1 --new-steps=2 --view=api -- B N" },
		{ "npuprof compare B N --output_path=O",
		  "compare --vendor-files B N --output=O "
		  "--view=operator,module,communication,memory,kernel,api" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

static void options_of_the_offline_parser_are_those_of_export(void **state)
{
	static const struct translation all[] = {
		{ "npuprof export --profiler-path D --max-process-number 8", "export D --jobs=8" },
		{ "npuprof export --export-type text --type db D",
		  "export --export-type text --export-type=db D" },
	};

	(void)state;
	check_all(all, NP_COUNT(all));
}

/* How often the word stands in the notes of a line. */
static size_t noted(const char *text, const char *word)
{
	struct np_err err = NP_ERR_INIT;
	struct compat_line line;
	char ours[1024];
	size_t found = 0;

	assert_int_equal(translate(text, ours, sizeof(ours), &line, &err), NP_OK);
	assert_null(strstr(ours, word));
	for (size_t i = 0; i < line.notes.count; i++)
		found += strstr(line.notes.item[i], word) ? 1 : 0;
	compat_release(&line);
	return found;
}

static void what_is_ignored_is_noted_once(void **state)
{
	static const struct translation all[] = {
		{ "npuprof cluster -d D --force", "--force is ignored: " },
		{ "npuprof cluster -d D --parallel_mode concurrent",
		  "--parallel-mode is ignored: " },
		{ "npuprof cluster -d D --data_simplification",
		  "--data-simplification is ignored: " },
		{ "npuprof cluster -d D --export_type notebook",
		  "--export-type notebook is ignored: " },
		{ "npuprof cluster -d D --dump_intermediate_results",
		  "--dump-intermediate-results is ignored: " },
		{ "npuprof advisor -d D -pt pytorch", "-pt is ignored: " },
		{ "npuprof compare B N --max_kernel_num=10", "--max-kernel-num is ignored: " },
		{ "npuprof compare B N --gpu_flow_cat=async_gpu", "--gpu-flow-cat is ignored: " },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(all); i++)
		assert_int_equal(noted(all[i].from, all[i].to), 1);
}

static void what_cannot_be_says_where_to_go(void **state)
{
	static const struct translation all[] = {
		{ "npuprof compare -d N", "-bp, the base, is missing" },
		{ "npuprof compare -bp B", "-d, the new run, is missing" },
		{ "npuprof compare B N --max_kernel_num 3", "above 3" },
		{ "npuprof compare B N --max_kernel_num", "needs a value" },
		{ "npuprof compare B N --base_step=", "is empty" },
		{ "npuprof cluster D --force=yes", "takes no value" },
		{ "npuprof cluster D --parallel_types dp;", "group 2" },
		{ "npuprof cluster D --parallel_types ;dp", "group 1" },
		{ "npuprof cluster_analysis.py -d D", "'npuprof cluster'" },
		{ "npuprof performance_compare.py B N", "'npuprof compare BASE NEW'" },
		{ "npuprof cluster -m all -d D --baseline_profiling_path G", "calibrate_npu_gpu" },
		{ "npuprof cluster -m calibrate_npu_gpu -d D", "npuprof compare GPU NPU" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(all); i++) {
		struct np_err err = NP_ERR_INIT;
		struct compat_line line;
		char ours[1024];

		assert_int_equal(translate(all[i].from, ours, sizeof(ours), &line, &err),
				 NP_E_USAGE);
		assert_non_null(strstr(err.text, all[i].to));
		compat_release(&line);
	}
}

static void quiet_and_agent_are_seen(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct compat_line line;
	char ours[256];

	(void)state;
	assert_int_equal(translate("npuprof cluster -d D -q --force --agent", ours, sizeof(ours),
				   &line, &err),
			 NP_OK);
	assert_true(line.quiet);
	assert_true(line.agent);
	assert_string_equal(ours, "cluster -d D -q -q --agent");
	compat_release(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_ours_passes_unchanged),
		cmocka_unit_test(the_old_spellings_of_the_front_door_work),
		cmocka_unit_test(options_of_cluster_are_ours),
		cmocka_unit_test(options_of_advisor_are_ours),
		cmocka_unit_test(compare_takes_the_new_run_first_as_before),
		cmocka_unit_test(options_of_the_offline_parser_are_those_of_export),
		cmocka_unit_test(what_is_ignored_is_noted_once),
		cmocka_unit_test(what_cannot_be_says_where_to_go),
		cmocka_unit_test(quiet_and_agent_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
