/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, as tables, JSON and a picture. */
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "npuprof/jsonout.h"

/* --- statistics ---------------------------------------------------------------------------------
 */

static int ascending(const void *left, const void *right)
{
	const double *a = left;
	const double *b = right;

	return (*a > *b) - (*a < *b);
}

double suite_quantile(const double *values, size_t count, double share)
{
	double sorted[SUITE_REPETITIONS];
	double at = share * (double)(count - 1);
	size_t below = (size_t)at;

	if (count == 0)
		return (double)NAN;
	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), ascending);
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double suite_median(const double *values, size_t count)
{
	return suite_quantile(values, count, 0.5);
}

/* Mann and Whitney's test in its normal approximation: how likely chance alone is. */
static double chance(const struct suite_result *a, const struct suite_result *b)
{
	double m = (double)a->count;
	double n = (double)b->count;
	double wins = 0;

	for (size_t i = 0; i < a->count; i++) {
		for (size_t j = 0; j < b->count; j++)
			wins += a->seconds[i] < b->seconds[j]
					? 1
					: (a->seconds[i] > b->seconds[j] ? 0 : 0.5);
	}
	return erfc(fabs(wins - m * n / 2) / sqrt(m * n * (m + n + 1) / 12) / sqrt(2.0));
}

/* The slope of log(y) over log(x). */
static double slope(const double *x, const double *y, size_t count)
{
	double mean_x = 0;
	double mean_y = 0;
	double above = 0;
	double below = 0;

	for (size_t i = 0; i < count; i++) {
		mean_x += log(x[i]) / (double)count;
		mean_y += log(y[i]) / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		above += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
		below += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
	}
	return count < 2 ? (double)NAN : above / below;
}

/* How time, or memory, of `cluster -j 2` of the first build grows along a curve. */
static double growth(const struct suite *suite, const char *curve, bool memory)
{
	double x[16];
	double y[16];
	size_t count = 0;

	for (size_t i = 0; i < suite->result_count && count < NP_COUNT(x); i++) {
		const struct suite_result *result = &suite->results[i];
		const char *of = result->input->growth;

		if (!of || strcmp(of, curve) != 0 || result->build != 0 ||
		    strcmp(result->name, "cluster -j 2") != 0)
			continue;
		x[count] = strcmp(curve, "ranks") == 0 ? result->input->ranks
						       : result->input->rank_megabytes;
		y[count++] = memory ? suite_median(result->peak, result->count)
				    : suite_median(result->seconds, result->count);
	}
	return slope(x, y, count);
}

/* --- for people ---------------------------------------------------------------------------------
 */

static void print_result(const struct suite_result *result)
{
	double median = suite_median(result->seconds, result->count);

	printf("%-15s %-44.44s %8.3f s  [%.3f %.3f]  cpu %7.3f s  %6.0f MB", result->input->name,
	       result->name, median, suite_quantile(result->seconds, result->count, 0.25),
	       suite_quantile(result->seconds, result->count, 0.75),
	       suite_median(result->cpu, result->count), suite_median(result->peak, result->count));
	if (result->megabytes > 0)
		printf("  %6.0f MB/s", result->megabytes / median);
	if (result->rows > 0)
		printf("  %6.2f Mrow/s", 1e-6 * result->rows / median);
	if (result->ratio > 0)
		printf("  x%.2f of the scan (cpu x%.2f)", result->ratio, result->cpu_ratio);
	/* 3: something could not be used, which some modes say of small inputs. */
	if (result->status != 0 && result->status != 3)
		printf("  exit %d", result->status);
	printf("\n");
}

static const char *verdict(const struct suite_result *old, const struct suite_result *new_)
{
	double ratio =
		suite_median(new_->seconds, new_->count) / suite_median(old->seconds, old->count);

	if (chance(old, new_) > 0.01 || (ratio > 0.95 && ratio < 1.05))
		return "no difference";
	return ratio < 1 ? "faster" : "SLOWER";
}

static const struct suite_result *other_build(const struct suite *suite,
					      const struct suite_result *result)
{
	for (size_t i = 0; i < suite->result_count; i++) {
		const struct suite_result *other = &suite->results[i];

		if (other->build == 1 && other->input == result->input &&
		    strcmp(other->name, result->name) == 0)
			return other;
		/* The inputs of start-up are not the same object. */
		if (other->build == 1 && strcmp(other->name, result->name) == 0 &&
		    strcmp(other->input->name, result->input->name) == 0)
			return other;
	}
	return NULL;
}

static void print_comparison(const struct suite *suite)
{
	size_t slower = 0;

	printf("\n%s against %s\n", suite->builds[1], suite->builds[0]);
	for (size_t i = 0; i < suite->result_count; i++) {
		const struct suite_result *old = &suite->results[i];
		const struct suite_result *new_ = old->build == 0 ? other_build(suite, old) : NULL;
		const char *word;

		if (!new_)
			continue;
		word = verdict(old, new_);
		slower += strcmp(word, "SLOWER") == 0;
		printf("%-15s %-44.44s x%.3f  chance %.3f  %s\n", old->input->name, old->name,
		       suite_median(new_->seconds, new_->count) /
			       suite_median(old->seconds, old->count),
		       chance(old, new_), word);
	}
	printf("verdict: %s\n", slower ? "slower" : "not slower");
}

/* Of a curve with points enough. */
static void print_growth(const struct suite *suite, const char *curve)
{
	if (isfinite(growth(suite, curve, false)))
		printf("growth of cluster -j 2 with %s: time ^%.2f, memory ^%.2f\n", curve,
		       growth(suite, curve, false), growth(suite, curve, true));
}

void suite_print(const struct suite *suite)
{
	printf("medians of %zu [quartiles]; load of the machine %.1f before, %.1f after\n",
	       suite->repetitions, suite->load_before, suite->load_after);
	for (size_t i = 0; i < suite->result_count; i++)
		print_result(&suite->results[i]);
	print_growth(suite, "ranks");
	print_growth(suite, "size");
	if (suite->build_count > 1)
		print_comparison(suite);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */

static void put_result(struct np_jsonout *out, const struct suite *suite,
		       const struct suite_result *result)
{
	double median = suite_median(result->seconds, result->count);

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "input", result->input->name);
	np_jsonout_text(out, "case", result->name);
	np_jsonout_text(out, "build", suite->builds[result->build]);
	np_jsonout_integer(out, "ranks", result->input->ranks);
	np_jsonout_real(out, "megabytes", result->megabytes);
	np_jsonout_real(out, "rows", result->rows > 0 ? result->rows : (double)NAN);
	np_jsonout_real(out, "median_s", median);
	np_jsonout_real(out, "low_s", suite_quantile(result->seconds, result->count, 0.25));
	np_jsonout_real(out, "high_s", suite_quantile(result->seconds, result->count, 0.75));
	np_jsonout_array_line(out, "seconds");
	for (size_t i = 0; i < result->count; i++)
		np_jsonout_real(out, NULL, result->seconds[i]);
	np_jsonout_end(out);
	np_jsonout_real(out, "cpu_s", suite_median(result->cpu, result->count));
	np_jsonout_real(out, "peak_mb", suite_median(result->peak, result->count));
	np_jsonout_real(out, "mb_per_s",
			result->megabytes > 0 ? result->megabytes / median : (double)NAN);
	np_jsonout_real(out, "rows_per_s", result->rows > 0 ? result->rows / median : (double)NAN);
	np_jsonout_real(out, "ratio_to_scan", result->ratio > 0 ? result->ratio : (double)NAN);
	np_jsonout_real(out, "cpu_ratio_to_scan",
			result->cpu_ratio > 0 ? result->cpu_ratio : (double)NAN);
	np_jsonout_integer(out, "exit", result->status);
	np_jsonout_end(out);
}

bool suite_write_json(const struct suite *suite, const char *path)
{
	FILE *file = fopen(path, "we");
	struct np_err err = NP_ERR_INIT;
	struct utsname machine;
	struct np_jsonout out;
	bool good;

	if (!file || uname(&machine) < 0) {
		(void)fprintf(stderr, "npuprof-bench: %s: %s\n", path, strerror(errno));
		return false;
	}
	np_jsonout_init(&out, file);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.bench/1");
	np_jsonout_text(&out, "machine", machine.machine);
	np_jsonout_integer(&out, "processors", sysconf(_SC_NPROCESSORS_ONLN));
	np_jsonout_integer(&out, "repetitions", (int64_t)suite->repetitions);
	np_jsonout_real(&out, "load_before", suite->load_before);
	np_jsonout_real(&out, "load_after", suite->load_after);
	np_jsonout_object(&out, "growth");
	np_jsonout_real(&out, "time_ranks", growth(suite, "ranks", false));
	np_jsonout_real(&out, "time_size", growth(suite, "size", false));
	np_jsonout_real(&out, "memory_ranks", growth(suite, "ranks", true));
	np_jsonout_real(&out, "memory_size", growth(suite, "size", true));
	np_jsonout_end(&out);
	np_jsonout_array(&out, "results");
	for (size_t i = 0; i < suite->result_count; i++)
		put_result(&out, suite, &suite->results[i]);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	good = np_jsonout_finish(&out, &err) == NP_OK;
	np_jsonout_release(&out);
	good = fclose(file) == 0 && good;
	if (!good)
		(void)fprintf(stderr, "npuprof-bench: cannot write %s\n", path);
	return good;
}

/* --- plot ---------------------------------------------------------------------------------------
 */

/* The cases that say most, a bar for each, by input. */
static bool is_plotted(const struct suite_result *result)
{
	static const char *const names[] = { "bare scan, 2 threads", "cluster -j 2",
					     "cluster --cache, used", "mpirun -n 2 cluster -j 1" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (result->build == 0 && strcmp(result->name, names[i]) == 0)
			return result->input->rank_megabytes > 0;
	}
	return false;
}

static const char *color_of(const struct suite_result *result)
{
	if (result->name[0] == 'b')
		return "#9aa0a6";
	if (result->name[0] == 'm')
		return "#1a9e77";
	return strstr(result->name, "cache") ? "#e6a117" : "#2b6cb0";
}

enum {
	ROW_HEIGHT = 18,
	GAP = 10,
	LEFT = 300,
	WIDTH = 900,
	TOP = 44
};

static void put_bar(FILE *file, const struct suite_result *result, int y, double longest)
{
	double median = suite_median(result->seconds, result->count);
	double width = (WIDTH - LEFT - 130) * median / longest;

	(void)fprintf(file,
		      "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s: %s</text>\n"
		      "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
		      "<text x=\"%.1f\" y=\"%d\">%.2f s, %.0f MB/s</text>\n",
		      LEFT - 8, y + 13, result->input->name, result->name, LEFT, y, width,
		      ROW_HEIGHT - 4, color_of(result), LEFT + width + 6, y + 13, median,
		      result->megabytes / median);
}

bool suite_write_svg(const struct suite *suite, const char *path)
{
	const struct suite_input *before = NULL;
	FILE *file = fopen(path, "we");
	double longest = 0;
	int height = TOP + GAP;
	int y = TOP;

	if (!file) {
		(void)fprintf(stderr, "npuprof-bench: %s: %s\n", path, strerror(errno));
		return false;
	}
	for (size_t i = 0; i < suite->result_count; i++) {
		const struct suite_result *result = &suite->results[i];

		if (!is_plotted(result))
			continue;
		longest = fmax(longest, suite_median(result->seconds, result->count));
		height += ROW_HEIGHT + (result->input != before ? GAP : 0);
		before = result->input;
	}
	before = NULL;
	(void)fprintf(
		file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"16\" y=\"24\" font-size=\"15\">npuprof cluster: seconds for all of "
		"its output (simulated profiles, medians of %zu, shorter is better)</text>\n",
		(int)WIDTH, height, suite->repetitions);
	for (size_t i = 0; i < suite->result_count; i++) {
		if (!is_plotted(&suite->results[i]))
			continue;
		y += suite->results[i].input != before ? GAP : 0;
		before = suite->results[i].input;
		put_bar(file, &suite->results[i], y, longest);
		y += ROW_HEIGHT;
	}
	(void)fprintf(file, "</svg>\n");
	return fclose(file) == 0;
}
