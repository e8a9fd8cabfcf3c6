/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MCP_TOOLS_H
#define NP_MCP_TOOLS_H

/*
 * What agents can ask: the tools, each a part of what a command of npuprof says, and the texts
 * that can be read. Every answer about a run names it, its units, how far it can be trusted and
 * what is missing.
 */

#include "mcp/protocol/mcp_server.h"

#include "mcp_runs.h"

/* mcp_catalog.context is a struct mcp_runs. */
extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_tool_count;
extern const struct mcp_resource mcp_resources[];
extern const size_t mcp_resource_count;
extern const char mcp_instructions[];

#endif /* NP_MCP_TOOLS_H */
