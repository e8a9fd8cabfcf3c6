/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people give the advisor beside rules: files of suppressions and results of earlier runs,
 * applied to findings. The first byte chooses.
 */
#include "advisor/engine/findings/policy.h"

#include "fuzz_file.h"

static struct adv_rule rule;
static struct adv_rule *rules[] = { &rule };
static struct adv_outcome outcome;
static const struct adv_outcome *outcomes[] = { &outcome };

/* One finding, of one rule. */
static void make_advice(struct adv_advice *advice, struct adv_finding *finding)
{
	rule.id = "compute.vector";
	*finding = (struct adv_finding){ .rule = &rule,
					 .severity = SEVERITY_MEDIUM,
					 .gain = 1000,
					 .gain_percent = 2,
					 .fingerprint = 0x0123456789abcdef };
	finding->shown = &outcome;
	finding->outcomes.item = outcomes;
	finding->outcomes.count = 1;
	*advice = (struct adv_advice){ .step_time = 100000 };
	advice->findings.item = finding;
	advice->findings.count = 1;
}

static void suppress(void)
{
	const struct adv_rule_library library = { .rules = { .item = rules, .count = 1 } };
	struct adv_suppressions suppressions = { .doc = NULL };
	struct np_err err = NP_ERR_INIT;
	struct adv_advice advice;
	struct adv_finding finding;

	make_advice(&advice, &finding);
	if (adv_suppressions_read(&suppressions, fuzz_path, &err) == NP_OK)
		require(adv_suppressions_apply(&suppressions, &library, &advice, &err) == NP_OK ||
			err.text[0]);
	else
		require(err.text[0] != '\0');
	require(!finding.suppressed || finding.suppressed[0]);
	adv_suppressions_release(&suppressions);
	np_notes_release(&advice.notes);
}

static void compare(void)
{
	NP_CLEANUP(np_json_freep) struct np_json *baseline = NULL;
	struct np_err err = NP_ERR_INIT;
	struct adv_advice advice;
	struct adv_finding finding;

	make_advice(&advice, &finding);
	if (adv_baseline_read(fuzz_path, &baseline, &err) < 0) {
		require(err.text[0] != '\0');
		return;
	}
	adv_baseline_apply(baseline, &advice);
	require(finding.baseline != BASELINE_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || !fuzz_write_file(data + 1, size - 1))
		return 0;
	if (data[0] % 2)
		suppress();
	else
		compare();
	return 0;
}
