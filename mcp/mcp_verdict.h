/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MCP_VERDICT_H
#define NP_MCP_VERDICT_H

/*
 * What the tool verdict says: the sentence, the machines behind the ranks that it names, where the
 * step goes, and which tools to ask next.
 */

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"

/* The verdict, the step, and what is found about the job. */
void mcp_put_verdict(struct np_jsonout *out, const struct np_analysis *analysis);

/* The mean of all ranks and steps, each nanosecond once; null where it is not known. */
void mcp_put_breakdown(struct np_jsonout *out, const struct np_breakdown *where);

/* A list: where the ranks run that the verdict names. */
void mcp_put_machines(struct np_jsonout *out, const struct np_analysis *analysis);

/* A list: tools and their arguments, but for the run. */
void mcp_put_next(struct np_jsonout *out, const struct np_analysis *analysis);

#endif /* NP_MCP_VERDICT_H */
