/* SPDX-License-Identifier: Apache-2.0 */
/* msprof: a stand-in for CANN's exporter and launcher. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "convert.h"
#include "launch.h"
#include "sim/synth/out/io.h"

/*
 * msprof, a stand-in
 * ==================
 *
 * Takes the options of CANN's msprof that exporters use and converts the raw
 * data of the simulator. Real raw data it does not know, nor does the real
 * msprof know the simulator's.
 */
enum output_type {
	TYPE_TEXT, /* as msprof: unless another is asked for */
	TYPE_DB,
	TYPE_JSON, /* the trace alone */
};

struct options {
	bool export;
	bool analyze;
	bool help;
	bool version;
	enum output_type type;
	const char *output;
};

static const char help[] =
	"usage: msprof --export=on|--analyze=on [--type=text|db|json] --output=DIR\n"
	"       msprof --output=DIR [--task-time=l0|l1] [--ai-core=on] [option]... APPLICATION...\n"
	"       msprof --dynamic=on --output=DIR [option]... --pid=PID[,PID]...|APPLICATION...\n"
	"\n"
	"A stand-in for CANN's msprof that converts the raw data of simulated NPUs.\n"
	"It cannot read data of real ones, and CANN's msprof cannot read these.\n"
	"\n"
	"  --export=on     write msprof_<time>.db (db), or mindstudio_profiler_output/ (text, json)\n"
	"  --analyze=on    write analyze/communication_analyzer.db (db) or communication*.json\n"
	"  --type=TYPE     text (default), db, or json for the trace alone\n"
	"  --output=DIR    a PROF_* directory, or one that holds some\n"
	"  --dynamic=on    obey start, stop and quit on standard input; an application that is not\n"
	"                  started here must have been with PROFILING_MODE=dynamic\n"
	"  --help, --version\n"
	"\n"
	"NPUSIM_SCHEMA=old in the environment writes databases as of early 2025 (1.0).\n";

/* --- options --------------------------------------------------------------------------------- */

/* "--name=value": its value, or NULL. */
static const char *value_of(const char *argument, const char *name)
{
	size_t length = strlen(name);

	return strncmp(argument, name, length) == 0 && argument[length] == '='
		       ? argument + length + 1
		       : NULL;
}

static int parse_switch(const char *value, bool *ret, struct np_err *err)
{
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return np_fail(err, NP_E_USAGE, "'%s' is neither on nor off", value);
	*ret = strcmp(value, "on") == 0;
	return NP_OK;
}

static int parse_type(const char *value, enum output_type *ret, struct np_err *err)
{
	static const char *const names[] = { "text", "db", "json" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (strcmp(names[i], value) == 0) {
			*ret = (enum output_type)i;
			return NP_OK;
		}
	}
	return np_fail(err, NP_E_USAGE, "no type '%s'; there are text, db and json", value);
}

/* Options of the real program that change nothing here. */
static bool is_ignored(const char *argument)
{
	static const char *const names[] = { "--rule",        "--reports",        "--python-path",
					     "--clear",       "--summary-format", "--model-id",
					     "--iteration-id" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (value_of(argument, names[i]))
			return true;
	}
	return false;
}

static int parse_one(const char *argument, struct options *options, struct np_err *err)
{
	const char *value;

	if ((value = value_of(argument, "--export")))
		return parse_switch(value, &options->export, err);
	if ((value = value_of(argument, "--analyze")))
		return parse_switch(value, &options->analyze, err);
	if ((value = value_of(argument, "--type")))
		return parse_type(value, &options->type, err);
	if ((value = value_of(argument, "--output")))
		options->output = value;
	else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
		options->help = true;
	else if (strcmp(argument, "--version") == 0)
		options->version = true;
	else if (!is_ignored(argument))
		return np_fail(err, NP_E_USAGE, "unknown option '%s'; see msprof --help", argument);
	return NP_OK;
}

static int parse(int argc, char **argv, struct options *options, struct np_err *err)
{
	int rc = NP_OK;

	for (int i = 1; i < argc && rc == NP_OK; i++)
		rc = parse_one(argv[i], options, err);
	if (rc < 0 || options->help || options->version)
		return rc;
	if (options->export == options->analyze)
		return np_fail(err, NP_E_USAGE, "one of --export=on and --analyze=on is needed");
	if (!options->output || !*options->output)
		return np_fail(err, NP_E_USAGE, "--output=DIR is needed");
	return NP_OK;
}

/* --- one directory --------------------------------------------------------------------------- */

/* The writers that a choice of options needs, ended by NULL. */
static const struct syn_backend *const *backends_of(const struct options *options)
{
	static const struct syn_backend *const export_db[] = { &syn_rank_db, NULL };
	static const struct syn_backend *const export_text[] = { &syn_trace, &syn_kernel_csv,
								 &syn_statistic_csv, NULL };
	static const struct syn_backend *const export_json[] = { &syn_trace, NULL };
	static const struct syn_backend *const analyze_db[] = { &syn_analysis_db, NULL };
	static const struct syn_backend *const analyze_text[] = { &syn_comm_json, NULL };

	if (options->analyze)
		return options->type == TYPE_DB ? analyze_db : analyze_text;
	if (options->type == TYPE_DB)
		return export_db;
	return options->type == TYPE_TEXT ? export_text : export_json;
}

#define MOST_BACKENDS 3

static int write_files(const struct msp_conversion *conversion,
		       const struct syn_backend *const *backends, struct np_err *err)
{
	const struct syn_backend *opened[MOST_BACKENDS];
	struct syn_sink *sinks[MOST_BACKENDS];
	size_t count = 0;
	int rc = NP_OK;

	for (size_t i = 0; backends[i] && rc == NP_OK; i++) {
		if (!backends[i]->is_wanted(&conversion->info))
			continue;
		rc = backends[i]->open(&conversion->info, &sinks[count], err);
		opened[count] = backends[i];
		count += rc == NP_OK ? 1 : 0;
	}
	if (rc == NP_OK)
		rc = msp_conversion_tell(conversion, sinks, count, err);
	for (size_t i = 0; i < count; i++)
		rc = opened[i]->close(sinks[i], rc, err);
	if (rc == NP_OK && count == 0)
		(void)printf("[INFO] nothing to analyse at level 0 in %s\n", conversion->info.dir);
	return rc;
}

static int convert(struct msp_recording *recording, const char *prof, const struct options *options,
		   struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf output = NP_BUF_INIT;
	struct msp_conversion conversion;
	bool text = options->type != TYPE_DB;
	int rc = msp_conversion_init(&conversion, recording, text, err);

	np_buf_add(&output, prof);
	if (options->analyze)
		np_buf_add(&output, "/analyze");
	else if (text)
		np_buf_add(&output, "/mindstudio_profiler_output");
	if (rc == NP_OK)
		rc = np_buf_check(&output, err);
	if (rc == NP_OK)
		rc = syn_make_dirs(output.text, err);
	conversion.info.dir = prof;
	conversion.info.output = output.text;
	if (rc == NP_OK)
		rc = write_files(&conversion, backends_of(options), err);
	msp_conversion_release(&conversion);
	return rc;
}

static int do_prof(const char *prof, const struct options *options, struct np_err *err)
{
	struct msp_recording recording;
	int rc = msp_recording_read(prof, &recording, err);

	if (rc == NP_OK && !recording.complete)
		(void)printf(
			"[WARNING] the collection in %s did not end; what there is was taken\n",
			prof);
	if (rc == NP_OK)
		rc = convert(&recording, prof, options, err);
	msp_recording_release(&recording);
	if (rc == NP_OK)
		(void)printf("[INFO] %s %s done (simulated)\n",
			     options->export ? "export of" : "analysis of", prof);
	return rc;
}

/* --- directories ----------------------------------------------------------------------------- */

static bool is_prof(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, "PROF_", 5) == 0;
}

static int do_parent(const char *path, const struct options *options, struct np_err *err)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort);
	int rc = NP_OK;
	int done = 0;

	if (count < 0)
		return syn_io_fail(err, "read", path);
	for (int i = 0; i < count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf prof = NP_BUF_INIT;

		np_buf_printf(&prof, "%s/%s", path, names[i]->d_name);
		if (rc == NP_OK && is_prof(prof.text)) {
			rc = do_prof(prof.text, options, err);
			done++;
		}
		free(names[i]);
	}
	free(names);
	if (rc == NP_OK && done == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "no PROF_* in '%s'", path);
	return rc;
}

static int run(int argc, char **argv, struct np_err *err)
{
	struct options options = { 0 };
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc = parse(argc, argv, &options, err);

	if (rc < 0)
		return rc;
	if (options.help || options.version) {
		(void)fputs(options.help ? help
					 : "msprof " NP_VERSION " (stand-in for simulated NPUs)\n",
			    stdout);
		return NP_OK;
	}
	np_buf_add(&path, options.output);
	while (path.length > 1 && path.text[path.length - 1] == '/')
		path.text[--path.length] = '\0';
	rc = np_buf_check(&path, err);
	if (rc < 0)
		return rc;
	return is_prof(path.text) ? do_prof(path.text, &options, err)
				  : do_parent(path.text, &options, err);
}

int main(int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	int application = msp_launch_find(argc, argv);
	bool dynamic = msp_dynamic_wanted(argc, argv);
	int status = -1;

	if (dynamic)
		status = msp_dynamic(argc, argv, application, &err);
	else if (application)
		status = msp_launch(argv, application, &err);
	if (status >= 0)
		return status;
	if (!application && !dynamic && run(argc, argv, &err) == NP_OK)
		return 0;
	(void)fprintf(stderr, "[ERROR] msprof: %s\n", err.text);
	return 1;
}
