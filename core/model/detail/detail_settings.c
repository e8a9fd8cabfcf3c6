/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a run and what the chip has, from metadata files. */
#include "core/model/vendor/file_names.h"
#include "detail_load.h"

#include "npuprof/relation.h"

#include <dirent.h>

/* --- settings -------------------------------------------------------------------------------- */

/* The first that has a setting wins: the database before the files beside it. */
static int know(struct detail_load *load, np_str name, bool *ret_known)
{
	*ret_known = np_numbers_get(&load->settings, name) != NP_MAP_NONE;
	return *ret_known ? NP_OK : np_numbers_add(&load->settings, name, 0, load->err);
}

int detail_add_setting_text(struct detail_load *load, const char *name, const char *value,
			    size_t length)
{
	struct np_detail *detail = load->detail;
	struct np_setting *setting;
	bool known = false;
	np_str id;
	int rc = np_strtab_add(detail->strings, name, strlen(name), &id, load->err);

	if (rc == NP_OK)
		rc = know(load, id, &known);
	if (rc < 0 || known)
		return rc;
	setting = np_vec_add(&detail->settings, load->err);
	if (!setting)
		return NP_E_NOMEM;
	setting->name = id;
	return np_strtab_add(detail->strings, value, length, &setting->value, load->err);
}

static void put_text(struct np_buf *buf, const char *text)
{
	np_buf_add_char(buf, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			np_buf_add_char(buf, '\\');
		if ((unsigned char)*text < 0x20)
			np_buf_printf(buf, "\\u%04x", (unsigned)*text);
		else
			np_buf_add_char(buf, *text);
	}
	np_buf_add_char(buf, '"');
}

static void put_json(struct np_buf *buf, const struct np_json *value);

static void put_items(struct np_buf *buf, const struct np_json *value)
{
	np_buf_add_char(buf, '[');
	for (size_t i = 0; i < np_json_count(value); i++) {
		if (i > 0)
			np_buf_add(buf, ", ");
		put_json(buf, np_json_item(value, i));
	}
	np_buf_add_char(buf, ']');
}

static void put_members(struct np_buf *buf, const struct np_json *value)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	bool first = true;

	np_buf_add_char(buf, '{');
	while (np_json_next(value, &entry)) {
		np_buf_add(buf, first ? "" : ", ");
		put_text(buf, entry.key);
		np_buf_add(buf, ": ");
		put_json(buf, entry.value);
		first = false;
	}
	np_buf_add_char(buf, '}');
}

/* A value as text; texts inside arrays and objects stand in quotes. */
static void put_json(struct np_buf *buf, const struct np_json *value)
{
	int64_t integer = 0;
	double real = 0;
	bool truth = false;

	switch (np_json_type(value)) {
	case NP_JSON_TEXT:
		put_text(buf, np_json_text(value));
		break;
	case NP_JSON_INTEGER:
		(void)np_json_integer(value, &integer);
		np_buf_printf(buf, "%lld", (long long)integer);
		break;
	case NP_JSON_REAL:
		(void)np_json_real(value, &real);
		np_real_format(buf, real);
		break;
	case NP_JSON_BOOL:
		(void)np_json_bool(value, &truth);
		np_buf_add(buf, truth ? "true" : "false");
		break;
	case NP_JSON_ARRAY:
		put_items(buf, value);
		break;
	case NP_JSON_OBJECT:
		put_members(buf, value);
		break;
	case NP_JSON_NULL:
	case NP_JSON_NONE:
		np_buf_add(buf, "null");
		break;
	}
}

static int add_value(struct detail_load *load, const char *name, const struct np_json *value)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	const char *text = np_json_text(value);
	int rc;

	if (text)
		return detail_add_setting_text(load, name, text, strlen(text));
	if (np_json_type(value) == NP_JSON_NULL)
		return NP_OK;
	put_json(&buf, value);
	rc = np_buf_check(&buf, load->err);
	return rc < 0 ? rc : detail_add_setting_text(load, name, buf.text, buf.length);
}

/* The framework writes an object that it was given as text as such a text. */
static struct np_json *object_in(const char *text, const char *name)
{
	struct np_err problem = NP_ERR_INIT;
	struct np_json *object = NULL;

	if (!text || *text != '{' || np_json_parse(text, strlen(text), name, &object, &problem) < 0)
		return NULL;
	return object;
}

int detail_add_setting(struct detail_load *load, const char *prefix, const char *name,
		       const struct np_json *value)
{
	NP_CLEANUP(np_json_freep) struct np_json *inside = NULL;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	char *path;
	int rc = NP_OK;

	if (!*prefix)
		inside = object_in(np_json_text(value), name);
	if (inside)
		value = inside;
	/* One level of objects is taken apart, so that a variable can be asked for by name. */
	if (np_json_type(value) == NP_JSON_OBJECT && !*prefix) {
		while (rc == NP_OK && np_json_next(value, &entry))
			rc = detail_add_setting(load, name, entry.key, entry.value);
		return rc;
	}
	if (asprintf(&path, "%s%s%s", prefix, *prefix ? "." : "", name) < 0)
		return np_fail_nomem(load->err, "settings");
	rc = add_value(load, path, value);
	free(path);
	return rc;
}

/* --- files ----------------------------------------------------------------------------------- */

static int read_document(struct detail_load *load, const char *path, struct np_json **ret)
{
	struct np_err problem = NP_ERR_INIT;

	if (!path || np_json_read_file(path, NP_METADATA_MAX_BYTES, ret, &problem) == NP_OK)
		return NP_OK;
	if (problem.code == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	/* Loading the rank has already said that the file cannot be read. */
	return NP_OK;
}

static int take_members(struct detail_load *load, const struct np_json *object)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(object, &entry)) {
		if (strcmp(entry.key, "config") == 0)
			rc = take_members(load, entry.value);
		else
			rc = detail_add_setting(load, "", entry.key, entry.value);
	}
	return rc;
}

/* info.json.N of a device: what the chip has. Older ones write numbers as text. */
static void take_device_info(struct np_device_info *device, const struct np_json *doc)
{
	const struct np_json *info = np_json_item(np_json_member(doc, "DeviceInfo"), 0);
	const struct {
		const char *name;
		int64_t *value;
	} members[] = {
		{ "ai_core_num", &device->ai_cores },
		{ "aiv_num", &device->vector_cores },
		{ "aic_frequency", &device->aic_mhz },
		{ "aiv_frequency", &device->aiv_mhz },
	};

	for (size_t i = 0; i < NP_COUNT(members); i++) {
		int64_t value;

		if (np_json_integer(np_json_member(info, members[i].name), &value) && value > 0 &&
		    *members[i].value == NP_UNKNOWN)
			*members[i].value = value;
	}
}

static int read_info_json(struct detail_load *load, const char *path)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int rc = read_document(load, path, &doc);

	take_device_info(&load->detail->device, doc);
	return rc;
}

/* The first directory below `dir` whose name begins so, in the order of names; NULL for none. */
static char *find_below(const char *dir, const char *prefix)
{
	struct dirent **list = NULL;
	int count = scandir(dir, &list, NULL, alphasort);
	char *found = NULL;

	for (int i = 0; i < count; i++) {
		if (!found && strncmp(list[i]->d_name, prefix, strlen(prefix)) == 0 &&
		    asprintf(&found, "%s/%s", dir, list[i]->d_name) < 0)
			found = NULL;
		free(list[i]);
	}
	free(list);
	return found;
}

/* PROF_…/device_N/info.json.N below the rank's directory, where raw data was kept. */
static int read_raw_info(struct detail_load *load)
{
	char *prof = load->source->kind == NP_KIND_MSPROF ? strdup(load->source->dir)
							  : find_below(load->source->dir, "PROF_");
	char *device = prof ? find_below(prof, "device_") : NULL;
	char *info = device ? find_below(device, "info.json") : NULL;
	int rc = info ? read_info_json(load, info) : NP_OK;

	free(info);
	free(device);
	free(prof);
	return rc;
}

static int read_files(struct detail_load *load)
{
	NP_CLEANUP(np_json_freep) struct np_json *info = NULL;
	NP_CLEANUP(np_json_freep) struct np_json *metadata = NULL;
	int rc = read_document(load, load->source->file[NP_FILE_INFO], &info);

	if (rc == NP_OK)
		rc = read_document(load, load->source->file[NP_FILE_METADATA], &metadata);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_DEVICE))
		take_device_info(&load->detail->device, info);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_ENVIRONMENT))
		rc = take_members(load, metadata);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_ENVIRONMENT))
		rc = take_members(load, info);
	return rc;
}

int detail_read_settings(struct detail_load *load)
{
	const struct np_device_info *device = &load->detail->device;
	int rc = NP_OK;

	if (!detail_wants(load, NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT))
		return NP_OK;
	rc = read_files(load);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_DEVICE))
		rc = read_raw_info(load);
	if (device->chip != NP_STR_NONE || device->ai_cores != NP_UNKNOWN ||
	    device->aic_mhz != NP_UNKNOWN)
		detail_found(load, NP_DETAIL_DEVICE);
	if (load->detail->settings.count > 0)
		detail_found(load, NP_DETAIL_ENVIRONMENT);
	return rc;
}
