/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a comparison as JSON (npuprof.compare/1). */
#include "compare_report.h"

#include "cli/prepare/input_json.h"
#include "cli/prepare/verdict_json.h"

#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/rank.h"

#include <inttypes.h>
#include <math.h>

static const char *const side_names[] = { [CMP_BASE] = "base", [CMP_NEW] = "new" };

static void put_notes(struct np_jsonout *out, const char *key, const struct np_notes *notes,
		      enum np_note_kind kind)
{
	np_jsonout_array(out, key);
	np_jsonout_notes(out, notes, kind);
	np_jsonout_end(out);
}

/* --- the two inputs -------------------------------------------------------------------------- */

static void put_versions(struct np_jsonout *out, const struct comparison *comparison,
			 enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	const struct np_rank *rank = cmp_rank(comparison, pair, which);
	const struct cmp_rank_kernels *kernels = &side->kernels[pair->rank[which]];

	np_jsonout_text(out, "level", np_run_text(side->analysis->run, rank->level));
	np_jsonout_text(out, "cann_version", np_run_text(side->analysis->run, rank->cann_version));
	np_jsonout_text(out, "framework_version",
			np_run_text(side->analysis->run, rank->framework_version));
	np_jsonout_text(out, "device", cmp_text(comparison, kernels->chip));
	np_jsonout_integer(out, "aicore_mhz", kernels->mhz);
}

static void put_input(struct np_jsonout *out, const struct compare_report *report,
		      enum cmp_which which)
{
	const struct comparison *comparison = report->comparison;
	const struct cmp_side *side = &comparison->sides[which];
	const struct np_run *run = side->analysis->run;
	int32_t world = np_cluster_world(side->analysis->cluster);
	size_t hosts = np_cluster_hosts(side->analysis->cluster);
	char fingerprint[17];

	np_run_fingerprint(run, fingerprint);
	np_jsonout_object(out, side_names[which]);
	np_jsonout_text(out, "path", report->input[which]);
	np_jsonout_text(out, "fingerprint", fingerprint);
	np_jsonout_integer(out, "ranks_found", (int64_t)run->sources.count);
	np_jsonout_integer(out, "ranks_used", (int64_t)np_run_used(run));
	np_jsonout_integer(out, "world_size", world > 0 ? world : NP_UNKNOWN);
	np_jsonout_integer(out, "hosts", hosts > 0 ? (int64_t)hosts : NP_UNKNOWN);
	put_versions(out, comparison, which);
	np_jsonout_array_line(out, "steps");
	for (size_t i = 0; i < side->steps.count; i++)
		np_jsonout_text(out, NULL, np_run_text(run, side->steps.item[i]));
	np_jsonout_end(out);
	put_steps_from_json(out, run);
	np_jsonout_text(out, "dropped_step", np_run_text(run, side->dropped));
	np_jsonout_integer(out, "computing_ns",
			   side->computing == NP_UNKNOWN
				   ? NP_UNKNOWN
				   : llround((double)side->computing / (double)side->cells));
	np_jsonout_integer(out, "e2e_ns",
			   side->e2e == NP_UNKNOWN
				   ? NP_UNKNOWN
				   : llround((double)side->e2e / (double)side->cells));
	put_verdict_json(out, &side->analysis->verdict);
	put_notes(out, "skipped", &run->notes, NP_NOTE_SKIPPED);
	put_notes(out, "warnings", &run->notes, NP_NOTE_WARNING);
	np_jsonout_end(out);
}

/* --- changes --------------------------------------------------------------------------------- */

static void put_sides(struct np_jsonout *out, const struct cmp_change *change)
{
	np_jsonout_integer(out, "base_ns", change->ns[CMP_BASE]);
	np_jsonout_integer(out, "new_ns", change->ns[CMP_NEW]);
	np_jsonout_integer(out, "delta_ns", change->delta);
}

static int64_t whole(double value)
{
	return isfinite(value) ? llround(value) : NP_UNKNOWN;
}

static void put_test(struct np_jsonout *out, const struct cmp_change *change)
{
	np_jsonout_integer(out, "median_delta_ns", whole(change->test.median_delta));
	np_jsonout_integer(out, "low_ns", whole(change->test.low));
	np_jsonout_integer(out, "high_ns", whole(change->test.high));
	np_jsonout_integer(out, "detectable_ns", whole(change->test.detectable));
	np_jsonout_real(out, "p_value", change->test.p);
}

static void put_step(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_object(out, "step");
	put_sides(out, &comparison->step);
	np_jsonout_integer(out, "steps_base", (int64_t)comparison->sides[CMP_BASE].steps.count);
	np_jsonout_integer(out, "steps_new", (int64_t)comparison->sides[CMP_NEW].steps.count);
	put_test(out, &comparison->step);
	np_jsonout_text(out, "test", comparison->step.test.method);
	np_jsonout_text(out, "verdict", cmp_verdict_name(comparison->step.verdict));
	np_jsonout_text(out, "verdict_by", comparison->by_parts != 0 ? "parts" : "step");
	np_jsonout_integer(out, "parts_delta_ns",
			   comparison->by_parts != 0 ? comparison->by_parts : NP_UNKNOWN);
	np_jsonout_end(out);
	np_jsonout_object(out, "overlapped");
	put_sides(out, &comparison->overlapped);
	np_jsonout_end(out);
}

static void put_waterfall(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_array(out, "waterfall");
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "leaf", leaf->path);
		put_sides(out, &leaf->change);
		np_jsonout_text(out, "verdict", cmp_verdict_name(leaf->change.verdict));
		put_test(out, &leaf->change);
		np_jsonout_real(out, "q_value", leaf->change.q);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_comm_side(struct np_jsonout *out, const char *key, const struct cmp_comm_side *side)
{
	if (side->communicators == 0) {
		np_jsonout_null(out, key);
		return;
	}
	np_jsonout_object_line(out, key);
	np_jsonout_integer(out, "communicators", (int64_t)side->communicators);
	np_jsonout_integer(out, "ops", (int64_t)side->ops);
	np_jsonout_integer(out, "bytes", side->bytes);
	np_jsonout_integer(out, "elapsed_ns", side->elapsed);
	np_jsonout_integer(out, "wait_ns", side->wait);
	np_jsonout_integer(out, "transit_ns", side->transit);
	np_jsonout_integer(out, "exposed_ns", side->exposed);
	np_jsonout_integer(out, "overlapped_ns", side->overlapped);
	np_jsonout_real(out, "gb_per_s", side->gb_per_s);
	np_jsonout_end(out);
}

static void put_communicators(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_array(out, "communicators");
	for (size_t i = 0; i < comparison->comms.count; i++) {
		const struct cmp_comm *comm = &comparison->comms.item[i];

		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "name", comm->name);
		np_jsonout_text(out, "matched_by", comm->matched_by);
		put_comm_side(out, "base", &comm->side[CMP_BASE]);
		put_comm_side(out, "new", &comm->side[CMP_NEW]);
		np_jsonout_integer(out, "delta_ns", comm->delta);
		np_jsonout_integer(out, "bytes_effect_ns", comm->bytes_effect);
		np_jsonout_integer(out, "bandwidth_effect_ns", comm->bandwidth_effect);
		np_jsonout_integer(out, "wait_effect_ns", comm->wait_effect);
		np_jsonout_integer(out, "overlap_effect_ns", comm->overlap_effect);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_ranks(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_text(out, "paired_by", comparison->paired_by);
	np_jsonout_array(out, "ranks");
	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "base_rank", cmp_rank(comparison, pair, CMP_BASE)->id);
		np_jsonout_integer(out, "new_rank", cmp_rank(comparison, pair, CMP_NEW)->id);
		np_jsonout_integer(out, "base_ns", pair->length[CMP_BASE]);
		np_jsonout_integer(out, "new_ns", pair->length[CMP_NEW]);
		np_jsonout_integer(out, "delta_ns", pair->length[CMP_NEW] - pair->length[CMP_BASE]);
		np_jsonout_integer(out, "own_base_ns", pair->busy[CMP_BASE]);
		np_jsonout_integer(out, "own_new_ns", pair->busy[CMP_NEW]);
		np_jsonout_bool(out, "outlier", pair->outlier);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_kernels(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_array(out, "kernels");
	for (size_t i = 0; i < comparison->kernels.count; i++) {
		const struct cmp_kernel *kernel = &comparison->kernels.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "type", cmp_text(comparison, kernel->type));
		np_jsonout_text(out, "shapes", cmp_text(comparison, kernel->shapes));
		np_jsonout_text(out, "leaf", comparison->leaves.item[kernel->leaf].path);
		np_jsonout_real(out, "count_base", kernel->count[CMP_BASE]);
		np_jsonout_real(out, "count_new", kernel->count[CMP_NEW]);
		np_jsonout_integer(out, "base_ns", kernel->ns[CMP_BASE]);
		np_jsonout_integer(out, "new_ns", kernel->ns[CMP_NEW]);
		np_jsonout_integer(out, "count_effect_ns", kernel->count_effect);
		np_jsonout_integer(out, "speed_effect_ns", kernel->speed_effect);
		np_jsonout_integer(out, "mix_effect_ns", kernel->mix_effect);
		np_jsonout_integer(out, "overlap_effect_ns", kernel->overlap_effect);
		np_jsonout_integer(out, "delta_ns", kernel->delta);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_structure(struct np_jsonout *out, const struct comparison *comparison)
{
	np_jsonout_array(out, "structure");
	for (size_t i = 0; i < comparison->structure.count; i++) {
		const struct cmp_structure *each = &comparison->structure.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "kind", each->kind);
		np_jsonout_text(out, "what", each->what);
		np_jsonout_text(out, "from", each->from);
		np_jsonout_text(out, "to", each->to);
		np_jsonout_integer(out, "count", each->count);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_causes(struct np_jsonout *out, const struct compare_report *report)
{
	static const char *const kinds[] = {
		[CMP_CAUSE_RANK] = "rank",          [CMP_CAUSE_LINK] = "link",
		[CMP_CAUSE_KERNELS] = "kernels",    [CMP_CAUSE_HOST] = "host",
		[CMP_CAUSE_COMM] = "communication", [CMP_CAUSE_BETWEEN] = "between",
		[CMP_CAUSE_OTHER] = "other",
	};
	const struct comparison *comparison = report->comparison;
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;
	enum np_lang lang;

	/* What programs read is English. */
	lang = np_lang_set(NP_LANG_EN);
	compare_put_verdict(&verdict, report);
	(void)np_lang_set(lang);
	np_jsonout_made(out, "verdict", &verdict);
	np_jsonout_array(out, "causes");
	for (size_t i = 0; i < comparison->causes.count; i++) {
		const struct cmp_cause *cause = &comparison->causes.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "kind", kinds[cause->kind]);
		np_jsonout_text(out, "what", cause->what);
		np_jsonout_integer(out, "ns", cause->ns);
		np_jsonout_text(out, "text", cause->text);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_memory(struct np_jsonout *out, const struct cmp_memory *memory)
{
	np_jsonout_array(out, "memory");
	for (size_t i = 0; i < memory->list.count; i++) {
		const struct cmp_memory_peak *peak = &memory->list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "component", peak->component);
		np_jsonout_integer(out, "base_bytes", peak->bytes[CMP_BASE]);
		np_jsonout_integer(out, "new_bytes", peak->bytes[CMP_NEW]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_gate(struct np_jsonout *out, const struct cmp_gate *gate)
{
	np_jsonout_object(out, "gate");
	np_jsonout_bool(out, "tripped", gate && gate->result == CMP_GATE_FAIL);
	np_jsonout_text(out, "result", cmp_gate_result_name(gate ? gate->result : CMP_GATE_PASS));
	np_jsonout_array(out, "conditions");
	for (size_t i = 0; gate && i < gate->conditions.count; i++) {
		const struct cmp_condition *each = &gate->conditions.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "condition", each->text);
		np_jsonout_text(out, "result", cmp_gate_result_name(each->result));
		np_jsonout_text(out, "reason", each->reason);
		np_jsonout_integer(out, each->bytes ? "base_bytes" : "base_ns", each->value[0]);
		np_jsonout_integer(out, each->bytes ? "new_bytes" : "new_ns", each->value[1]);
		np_jsonout_real(out, "p_value", each->p);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* --- tables as arrays of objects ------------------------------------------------------------- */

/* Tables that the document has no field of its own for. */
static int put_tables(struct np_jsonout *out, const struct compare_report *report,
		      struct np_err *err)
{
	struct np_jsonout_sink sink;
	int rc = NP_OK;

	np_jsonout_sink_init(&sink, out);
	np_jsonout_object(out, "views");
	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		const struct np_relation *relation = compare_relations[i];

		if (compare_view_of(relation->name) != CMP_VIEWS &&
		    compare_relation_applies(relation, report))
			rc = np_relation_write(relation, report, &sink.base, err);
	}
	np_jsonout_end(out);
	return rc;
}

/* The sentences above in the language of the reader, each under itself. */
static void put_said(struct np_jsonout *out, const struct compare_report *report)
{
	const struct comparison *comparison = report->comparison;
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf said = NP_BUF_INIT;
	enum np_lang lang = np_lang_set(NP_LANG_EN);

	compare_put_verdict(&verdict, report);
	(void)np_lang_set(lang);
	compare_put_verdict(&said, report);
	np_jsonout_object(out, "said");
	if (strcmp(verdict.text, said.text) != 0)
		np_jsonout_made(out, verdict.text, &said);
	for (size_t i = 0; i < comparison->causes.count; i++)
		put_said_json(out, comparison->causes.item[i].text);
	for (size_t i = 0; i < comparison->warnings.list.count; i++)
		put_said_json(out, comparison->warnings.list.item[i].reason);
	for (size_t i = 0; report->gate && i < report->gate->conditions.count; i++)
		put_said_json(out, report->gate->conditions.item[i].reason);
	np_jsonout_end(out);
}

void compare_put_difference(struct np_jsonout *out, const struct compare_report *report)
{
	const struct comparison *comparison = report->comparison;

	np_jsonout_object(out, "difference");
	np_jsonout_text(out, "base", report->input[CMP_BASE]);
	put_notes(out, "warnings", &comparison->warnings, NP_NOTE_WARNING);
	put_causes(out, report);
	put_step(out, comparison);
	put_waterfall(out, comparison);
	put_ranks(out, comparison);
	if (report->gate)
		put_gate(out, report->gate);
	put_said(out, report);
	np_jsonout_end(out);
}

int compare_json(const struct compare_report *report, FILE *stream, struct np_err *err)
{
	const struct comparison *comparison = report->comparison;
	struct np_jsonout_sink sink;
	static const char *const names[] = { "classes", "mc2", "links" };
	const struct np_relation *plain[NP_COUNT(names)];
	struct np_jsonout out;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(names) && rc == NP_OK; i++)
		rc = compare_find_relation(names[i], &plain[i], err);
	if (rc < 0)
		return rc;
	np_jsonout_init(&out, stream);
	np_jsonout_sink_init(&sink, &out);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.compare/1");
	put_input(&out, report, CMP_BASE);
	put_input(&out, report, CMP_NEW);
	put_notes(&out, "warnings", &comparison->warnings, NP_NOTE_WARNING);
	np_jsonout_text(&out, "step_basis", np_basis_name(comparison->basis));
	put_causes(&out, report);
	put_step(&out, comparison);
	put_waterfall(&out, comparison);
	put_communicators(&out, comparison);
	put_ranks(&out, comparison);
	put_kernels(&out, comparison);
	put_structure(&out, comparison);
	put_memory(&out, report->memory);
	for (size_t i = 0; i < NP_COUNT(plain) && rc == NP_OK; i++)
		rc = np_relation_write(plain[i], report, &sink.base, err);
	if (rc == NP_OK)
		rc = put_tables(&out, report, err);
	if (rc == NP_OK) {
		put_gate(&out, report->gate);
		np_jsonout_end(&out);
		rc = np_jsonout_finish(&out, err);
	}
	np_jsonout_release(&out);
	return rc;
}
