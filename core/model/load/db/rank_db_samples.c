/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled counters are summed, and what is not known of a database is listed. */
#include "rank_db.h"

#include "core/model/vendor/known_tables.h"
#include "core/model/vendor/sample_tables.h"

#include <math.h>

/* --- counters -------------------------------------------------------------------------------- */

/* One quantity of one device, and of one port where these count each for itself. */
struct sampled {
	struct np_counter counter;
	int64_t instance;
	double last; /* of a counter that rises; NaN before the first sample */
};

struct samples {
	const struct vendor_sample_table *table;
	np_str name;
	size_t values;          /* quantities that the table may have */
	struct np_idmap *names; /* of what rows are of, where STRING_IDS has them not; or NULL */
	NP_VEC(struct sampled) list;
	size_t impossible;
};

/* More rows that differ by device, port or kind are damage. */
#define MOST_SAMPLED 4096

/* So much of what its rows are of goes into the name of a quantity. */
#define LONGEST_NAME 64

/* What a row is of: "read"; a number that has no name stands for itself. */
static struct rank_db_text text_of(struct rank_db *load, const struct samples *samples, int64_t of,
				   char *room, size_t size)
{
	uint32_t known;

	if (!samples->table->of)
		return (struct rank_db_text){ "", 0 };
	if (!samples->table->of_names)
		return rank_db_text(load, of);
	known = samples->names ? np_idmap_get(samples->names, of) : NP_IDMAP_NONE;
	if (known != NP_IDMAP_NONE) {
		const char *text = np_strtab_text(load->strings, known);

		return (struct rank_db_text){ text, strlen(text) };
	}
	(void)snprintf(room, size, "%lld", (long long)of);
	return (struct rank_db_text){ room, strlen(room) };
}

/* "bandwidth read"; of a column with two names, the first. */
static int name_of(struct rank_db *load, const struct samples *samples, size_t value, int64_t of,
		   np_str *ret)
{
	char room[24];
	struct rank_db_text text = text_of(load, samples, of, room, sizeof(room));
	const char *column = samples->table->values[value];
	char name[2 * LONGEST_NAME];
	int length = snprintf(name, sizeof(name), "%.*s%s%.*s", (int)strcspn(column, "|"), column,
			      text.length > 0 ? " " : "",
			      (int)(text.length < LONGEST_NAME ? text.length : LONGEST_NAME),
			      text.bytes);

	return np_strtab_add(load->strings, name, (size_t)length, ret, load->err);
}

static int find_sampled(struct rank_db *load, struct samples *samples, np_str name, int32_t device,
			int64_t instance, struct sampled **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < samples->list.count; i++) {
		struct sampled *each = &samples->list.item[i];

		if (each->counter.name == name && each->counter.device == device &&
		    each->instance == instance) {
			*ret = each;
			return NP_OK;
		}
	}
	if (samples->list.count == MOST_SAMPLED) {
		samples->impossible++;
		return NP_OK;
	}
	*ret = np_vec_add(&samples->list, load->err);
	if (!*ret)
		return NP_E_NOMEM;
	**ret = (struct sampled){ .counter = { .table = samples->name,
					       .name = name,
					       .device = device,
					       .level = samples->table->kind ==
							VENDOR_SAMPLE_LEVEL },
				  .instance = instance,
				  .last = (double)NAN };
	return NP_OK;
}

static void add_sample(const struct vendor_sample_table *table, struct sampled *sampled,
		       double value)
{
	double last = sampled->last;

	sampled->last = value;
	if (table->kind == VENDOR_SAMPLE_RISING) {
		/* The first says nothing; one that fell was reset, or had no more room. */
		if (isnan(last) || value < last)
			return;
		value -= last;
	}
	sampled->counter.samples++;
	sampled->counter.total += value;
	if (value > sampled->counter.most)
		sampled->counter.most = value;
}

static int take_sample(struct rank_db *load, struct samples *samples, const struct np_batch *batch,
		       size_t row)
{
	const struct vendor_sample_table *table = samples->table;
	int32_t device = vendor_device(batch->column[SAMPLE_DEVICE].integer[row]);
	int64_t instance = table->instance ? batch->column[SAMPLE_INSTANCE].integer[row] : 0;
	int64_t of = table->of ? batch->column[SAMPLE_OF].integer[row] : 0;

	for (size_t i = 0; i < samples->values; i++) {
		double value = batch->column[SAMPLE_VALUES + i].real[row];
		struct sampled *sampled = NULL;
		np_str name;
		int rc;

		/* Not there, or damage: nothing counts or moves that much. */
		if (isnan(value))
			continue;
		if (value < 0 || value > (double)NP_MOST_BYTES) {
			samples->impossible++;
			continue;
		}
		rc = name_of(load, samples, i, of, &name);
		if (rc == NP_OK)
			rc = find_sampled(load, samples, name, device, instance, &sampled);
		if (rc < 0)
			return rc;
		if (sampled)
			add_sample(table, sampled, value);
	}
	return NP_OK;
}

static struct np_counter *find_counter(struct rank_db *load, size_t from,
				       const struct np_counter *like)
{
	struct np_rank *rank = load->rank;
	struct np_counter *counter;

	for (size_t i = from; i < rank->counters.count; i++) {
		counter = &rank->counters.item[i];
		if (counter->name == like->name && counter->device == like->device)
			return counter;
	}
	counter = np_vec_add(&rank->counters, load->err);
	if (counter)
		*counter = (struct np_counter){ .table = like->table,
						.name = like->name,
						.device = like->device,
						.level = like->level };
	return counter;
}

/* Ports of a device are one in the end. */
static int keep_counters(struct rank_db *load, const struct samples *samples)
{
	size_t from = load->rank->counters.count;

	for (size_t i = 0; i < samples->list.count; i++) {
		const struct np_counter *each = &samples->list.item[i].counter;
		struct np_counter *counter;

		if (each->samples == 0)
			continue;
		counter = find_counter(load, from, each);
		if (!counter)
			return NP_E_NOMEM;
		counter->samples += each->samples;
		counter->total += each->total;
		if (each->most > counter->most)
			counter->most = each->most;
	}
	return NP_OK;
}

static int scan_samples(struct rank_db *load, struct samples *samples)
{
	const struct vendor_sample_table *table = samples->table;
	struct np_scan_column columns[NP_SCAN_COLUMNS] = {
		[SAMPLE_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
		[SAMPLE_INSTANCE] = { table->instance ? table->instance : "", NP_SCAN_INTEGER,
				      NP_OPTIONAL },
		[SAMPLE_OF] = { table->of ? table->of : "", NP_SCAN_INTEGER, NP_OPTIONAL },
	};
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc;

	for (size_t i = 0; i < SAMPLE_MOST_VALUES && table->values[i]; i++) {
		columns[SAMPLE_VALUES + i] =
			(struct np_scan_column){ table->values[i], NP_SCAN_REAL, NP_OPTIONAL };
		samples->values++;
	}
	rc = np_scan_open(load->db, table->name, columns, SAMPLE_VALUES + samples->values, &scan,
			  load->err);
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, load->err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take_sample(load, samples, &batch, i);
	}
	return rc;
}

static int read_names(struct rank_db *load, struct samples *samples)
{
	static const struct np_scan_column columns[ENUM_COLUMNS] = {
		[ENUM_ID] = { "id", NP_SCAN_INTEGER, NP_REQUIRED },
		[ENUM_NAME] = { "name", NP_SCAN_TEXT, NP_REQUIRED },
	};
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err problem = NP_ERR_INIT;
	struct np_batch batch;
	int rc = np_scan_open(load->db, samples->table->of_names, columns, ENUM_COLUMNS, &scan,
			      &problem);

	samples->names = np_idmap_new();
	if (!samples->names)
		return np_fail_nomem(load->err, samples->table->name);
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, &problem);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows; i++) {
			struct np_scan_text name = batch.column[ENUM_NAME].text[i];
			np_str id;

			if (!name.bytes)
				continue;
			if (np_strtab_add(load->strings, name.bytes, name.length, &id, load->err) <
				    0 ||
			    np_idmap_set(samples->names, batch.column[ENUM_ID].integer[i], id,
					 load->err) < 0)
				return NP_E_NOMEM;
		}
	}
	/* Without names numbers stand for themselves. */
	if (rc < 0 && rc != NP_E_NOMEM && rc != NP_E_NOTFOUND)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), samples->table->of_names, "%s", problem.text);
	return rc == NP_E_NOMEM ? np_fail(load->err, rc, "%s", problem.text) : NP_OK;
}

/* A damaged table of samples costs nothing but itself. */
static int read_table(struct rank_db *load, const struct vendor_sample_table *table)
{
	struct samples samples = { .table = table };
	int rc;

	if (!np_db_has_table(load->db, table->name))
		return NP_OK;
	rc = np_strtab_add(load->strings, table->name, strlen(table->name), &samples.name,
			   load->err);
	if (rc == NP_OK && table->of_names)
		rc = read_names(load, &samples);
	if (rc == NP_OK)
		rc = scan_samples(load, &samples);
	if (rc < 0 && rc != NP_E_NOMEM) {
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), table->name, "%s", load->err->text);
		*load->err = NP_ERR_INIT;
		rc = NP_OK;
	} else if (rc == NP_OK) {
		rc = keep_counters(load, &samples);
	}
	if (samples.impossible > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), table->name,
			    "%zu values are impossible and are not counted", samples.impossible);
	np_vec_release(&samples.list);
	np_idmap_free(samples.names);
	return rc;
}

int rank_db_read_samples(struct rank_db *load)
{
	int rc = NP_OK;

	for (size_t i = 0; i < vendor_sample_table_count && rc == NP_OK; i++)
		rc = read_table(load, &vendor_sample_tables[i]);
	return rc;
}

/* --- what is not known ----------------------------------------------------------------------- */

/* A database with more unknown names is not of this kind; the first of them say so. */
#define MOST_UNKNOWN 256

static int take_column(void *context, const char *table, const char *column, struct np_err *err)
{
	struct rank_db *load = context;
	struct np_rank *rank = load->rank;
	struct np_unknown unknown = { .column = NP_STR_NONE };
	const struct np_unknown *last =
		rank->unknowns.count ? &rank->unknowns.item[rank->unknowns.count - 1] : NULL;
	struct np_unknown *slot;
	int rc;

	if (vendor_knows_column(table, column) || rank->unknowns.count == MOST_UNKNOWN)
		return NP_OK;
	rc = np_strtab_add(load->strings, table, strlen(table), &unknown.table, err);
	if (rc == NP_OK && vendor_knows_table(table))
		rc = np_strtab_add(load->strings, column, strlen(column), &unknown.column, err);
	else if (last && last->table == unknown.table)
		return rc;
	if (rc < 0)
		return rc;
	slot = np_vec_add(&rank->unknowns, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = unknown;
	return NP_OK;
}

int rank_db_list_unknown(struct rank_db *load)
{
	return np_db_columns(load->db, take_column, load, load->err);
}
