/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

#include "npuprof/buf.h"
#include "npuprof/course.h"
#include "npuprof/root_cause.h"
#include "npuprof/whatif.h"

/*
 * The verdict
 * ===========
 *
 * Who, or what, to name first, and how much of the loss that explains. It is made
 * once, here, from all measures; commands print it and judge nothing themselves, so
 * that none contradicts another.
 *
 * What the data cannot carry is not said: a verdict is withheld, with what is
 * missing, where the analysis is not ready (npuprof/readiness.h) or a gain is more
 * than the waiting there is; ranks that were waited for and not profiled are a
 * notice about coverage and never a gain.
 */

struct np_analysis;

enum np_verdict_kind {
	NP_VERDICT_NONE,         /* nothing stands out */
	NP_VERDICT_REPAIR,       /* the kind is that of the repair */
	NP_VERDICT_NOT_PROFILED, /* the waiting begins where nobody looked */
	NP_VERDICT_WITHHELD,     /* the data do not carry one: see the reason */
};

struct np_verdict {
	enum np_verdict_kind kind;
	struct np_fix fix;                      /* of a repair */
	struct np_fix with[NP_WHATIF_TEAM - 1]; /* it gains only together with these */
	size_t with_count;
	np_ns recovered; /* by the repair, of the step; NP_UNKNOWN */
	np_ns lost;      /* of the step, against even ranks, stages and links; NP_UNKNOWN */
	char *what;      /* of the repair, or the communicator that was not profiled; or NULL */
	char *reason;    /* of what is withheld; or NULL */
	char *text;      /* one sentence, in English */

	uint32_t named;  /* the rank that the repair names, by index in the run; else UINT32_MAX */
	uint32_t first;  /* the rank that most waiting goes back to; UINT32_MAX for none */
	bool stands_out; /* that one is charged far more than others, in most steps */
	/* Of the rank named, else of the first. */
	struct np_course course;
	struct np_explanation explanation;
};

/* From all other measures of the analysis, which are there. */
int np_verdict_measure(const struct np_analysis *analysis, struct np_verdict *ret,
		       struct np_err *err) NP_MUST_USE;
void np_verdict_release(struct np_verdict *verdict);

/* Append the verdict of an analysis in the language of this thread (npuprof/lang.h). */
void np_verdict_say(struct np_buf *buf, const struct np_analysis *analysis);

/* Does transfer that no computing hides take more than what the verdict names? It says so. */
bool np_verdict_has_larger(const struct np_analysis *analysis);

/* "rank", "host-gaps", "not-profiled", "withheld", "none" … */
const char *np_verdict_kind_name(const struct np_verdict *verdict);

/*
 * A verdict from its parts as they were written: the name of its kind, and the repairs
 * that go with it separated by spaces. NP_E_FORMAT for what is none.
 */
int np_verdict_read(const char *kind, const char *what, const char *with, struct np_verdict *ret,
		    struct np_err *err) NP_MUST_USE;

/*
 * Why a rank of a chain was late: "computes longer: MatMulV2 +12 %", "waited for rank 5
 * in tp …428".
 */
void np_verdict_put_why(struct np_buf *buf, const struct np_analysis *analysis,
			const struct np_explanation *explanation, size_t index);

/* "tp …428", or the hash of a communicator without a name; by index in the alignment. */
void np_verdict_put_communicator(struct np_buf *buf, const struct np_analysis *analysis,
				 uint32_t index);

/* Is this rank, by index in the run, one that a repair changes: it, or its host or stage? */
bool np_verdict_changes_rank(const struct np_analysis *analysis, const struct np_fix *fix,
			     uint32_t rank);

/* "ranks 4-7": those that a repair of a host or of a stage changes, in the language of this thread.
 */
void np_verdict_put_ranks(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_fix *fix);

#endif /* NP_VERDICT_H */
