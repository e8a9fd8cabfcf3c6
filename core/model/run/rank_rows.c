/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a rank that only tables show, packed: links and packets are more than all else that is
 * kept of it. */
#include "npuprof/bytes.h"
#include "npuprof/rank.h"

#include <assert.h>

/* The links of a communicator. */
struct packed_links {
	size_t count;
	size_t offset;
};

/*
 * Each value is the difference from that of the row above: most take a byte. Bands, then links
 * by communicator. They never leave this process.
 */
struct np_packed_rows {
	size_t counted; /* packets that were left out */
	size_t band_count;
	size_t link_count;
	size_t length;
	uint8_t *bytes; /* behind the groups */
	struct packed_links groups[];
};

static void put(struct np_bytes_writer *out, uint64_t value, uint64_t before)
{
	np_bytes_put_signed(out, (int64_t)(value - before));
}

static uint64_t get(struct np_bytes_reader *in, uint64_t before)
{
	return before + (uint64_t)np_bytes_get_signed(in);
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double real_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* --- rows --------------------------------------------------------------------------------------
 */

static void put_band(struct np_bytes_writer *out, const struct np_band *band,
		     const struct np_band *before)
{
	put(out, band->op, before->op);
	put(out, band->type, before->type);
	put(out, (uint64_t)band->bytes, (uint64_t)before->bytes);
	put(out, (uint64_t)band->time, (uint64_t)before->time);
	put(out, bits_of(band->large_packet_ratio), bits_of(before->large_packet_ratio));
	put(out, (uint64_t)band->package_bytes, (uint64_t)before->package_bytes);
	put(out, (uint64_t)band->package_count, (uint64_t)before->package_count);
	put(out, (uint64_t)band->package_time, (uint64_t)before->package_time);
}

static struct np_band get_band(struct np_bytes_reader *in, const struct np_band *before)
{
	struct np_band band = { .op = (uint32_t)get(in, before->op) };

	band.type = (enum np_band_type)get(in, before->type);
	band.bytes = (int64_t)get(in, (uint64_t)before->bytes);
	band.time = (np_ns)get(in, (uint64_t)before->time);
	band.large_packet_ratio = real_of(get(in, bits_of(before->large_packet_ratio)));
	band.package_bytes = (int64_t)get(in, (uint64_t)before->package_bytes);
	band.package_count = (int64_t)get(in, (uint64_t)before->package_count);
	band.package_time = (np_ns)get(in, (uint64_t)before->package_time);
	return band;
}

static void put_link(struct np_bytes_writer *out, const struct np_link *link,
		     const struct np_link *before)
{
	put(out, link->group, before->group);
	put(out, link->step, before->step);
	put(out, link->op_class, before->op_class);
	put(out, (uint64_t)link->pick << 1 | link->p2p, (uint64_t)before->pick << 1 | before->p2p);
	put(out, (uint64_t)link->src, (uint64_t)before->src);
	put(out, (uint64_t)link->dst, (uint64_t)before->dst);
	put(out, link->transport, before->transport);
	put(out, (uint64_t)link->bytes, (uint64_t)before->bytes);
	put(out, (uint64_t)link->time, (uint64_t)before->time);
	put(out, link->op_name, before->op_name);
}

static struct np_link get_link(struct np_bytes_reader *in, const struct np_link *before)
{
	struct np_link link = { .group = (uint32_t)get(in, before->group) };
	uint64_t pick;

	link.step = (uint32_t)get(in, before->step);
	link.op_class = (np_str)get(in, before->op_class);
	pick = get(in, (uint64_t)before->pick << 1 | before->p2p);
	link.pick = (enum np_link_pick)(pick >> 1);
	link.p2p = pick & 1;
	link.src = (int32_t)get(in, (uint64_t)before->src);
	link.dst = (int32_t)get(in, (uint64_t)before->dst);
	link.transport = (np_str)get(in, before->transport);
	link.bytes = (int64_t)get(in, (uint64_t)before->bytes);
	link.time = (np_ns)get(in, (uint64_t)before->time);
	link.op_name = (np_str)get(in, before->op_name);
	return link;
}

/* --- all of a rank -----------------------------------------------------------------------------
 */

/* Links may also say who is in a communicator. */
bool np_rank_only_shows_rows(const struct np_rank *rank)
{
	if (rank->transfers.count == 0)
		return false;
	for (size_t i = 0; i < rank->groups.count; i++) {
		if (!rank->groups.item[i].members || rank->groups.item[i].group_rank < 0)
			return false;
	}
	return true;
}

static int keep_packed(struct np_rank *rank, const struct np_bytes *bytes,
		       const struct packed_links *groups, struct np_err *err)
{
	size_t room = rank->groups.count * sizeof(*groups);
	struct np_packed_rows *packed = malloc(sizeof(*packed) + room + bytes->count);

	if (!packed)
		return np_fail_nomem(err, "the rows of a rank");
	packed->counted = 0;
	packed->band_count = rank->bands.count;
	packed->link_count = rank->links.count;
	packed->length = bytes->count;
	packed->bytes = (uint8_t *)packed + sizeof(*packed) + room;
	if (room > 0)
		memcpy(packed->groups, groups, room);
	memcpy(packed->bytes, bytes->item, bytes->count);
	rank->packed_rows = packed;
	np_vec_release(&rank->bands);
	np_vec_release(&rank->links);
	return NP_OK;
}

static void put_links_of(struct np_bytes_writer *out, const struct np_rank *rank, uint32_t group,
			 struct packed_links *ret)
{
	struct np_link before = { 0 };

	*ret = (struct packed_links){ .offset = out->bytes.count };
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->group != group)
			continue;
		put_link(out, link, &before);
		before = *link;
		ret->count++;
	}
}

int np_rank_pack_rows(struct np_rank *rank, struct np_err *err)
{
	struct np_bytes_writer out = { 0 };
	struct np_band band = { 0 };
	struct packed_links *groups;
	int rc;

	if (rank->packed_rows || !np_rank_only_shows_rows(rank) ||
	    (rank->bands.count == 0 && rank->links.count == 0))
		return NP_OK;
	groups = calloc(rank->groups.count + 1, sizeof(*groups));
	if (!groups)
		return np_fail_nomem(err, "the rows of a rank");
	for (size_t i = 0; i < rank->bands.count; i++) {
		put_band(&out, &rank->bands.item[i], &band);
		band = rank->bands.item[i];
	}
	for (uint32_t i = 0; i < rank->groups.count; i++)
		put_links_of(&out, rank, i, &groups[i]);
	rc = np_bytes_written(&out, "the rows of a rank", err);
	if (rc == NP_OK)
		rc = keep_packed(rank, &out.bytes, groups, err);
	np_bytes_release(&out.bytes);
	free(groups);
	return rc;
}

int np_rank_count_rows(struct np_rank *rank, size_t more, struct np_err *err)
{
	size_t room = (rank->groups.count + 1) * sizeof(struct packed_links);
	struct np_packed_rows *packed;

	if (rank->packed_rows || !np_rank_only_shows_rows(rank))
		return NP_OK;
	packed = calloc(1, sizeof(*packed) + room);
	if (!packed)
		return np_fail_nomem(err, "the rows of a rank");
	packed->counted = rank->bands.count + more;
	rank->packed_rows = packed;
	np_vec_release(&rank->bands);
	np_vec_release(&rank->links);
	np_vec_release(&rank->vendor_times);
	return NP_OK;
}

static void get_links_of(const struct np_packed_rows *packed, uint32_t group, struct np_link *ret)
{
	const struct packed_links *own = &packed->groups[group];
	struct np_bytes_reader in = { packed->bytes + own->offset, packed->bytes + packed->length,
				      NULL, false };
	struct np_link link = { 0 };

	for (size_t i = 0; i < own->count; i++)
		ret[i] = link = get_link(&in, &link);
	assert(!in.problem);
}

static void get_bands(const struct np_packed_rows *packed, struct np_band *ret)
{
	struct np_bytes_reader in = { packed->bytes, packed->bytes + packed->length, NULL, false };
	struct np_band band = { 0 };

	for (size_t i = 0; i < packed->band_count; i++)
		ret[i] = band = get_band(&in, &band);
	assert(!in.problem);
}

int np_rank_bands(const struct np_rank *rank, struct np_rank_bands *ret, struct np_err *err)
{
	const struct np_packed_rows *packed = rank->packed_rows;
	struct np_band *bands;

	*ret = (struct np_rank_bands){ 0 };
	if (!packed) {
		*ret = (struct np_rank_bands){ rank->bands.item, rank->bands.count, NULL };
		return NP_OK;
	}
	bands = malloc((packed->band_count + 1) * sizeof(*bands));
	if (!bands)
		return np_fail_nomem(err, "the rows of a rank");
	get_bands(packed, bands);
	*ret = (struct np_rank_bands){ bands, packed->band_count, bands };
	return NP_OK;
}

void np_rank_bands_release(struct np_rank_bands *bands)
{
	free(bands->own);
	*bands = (struct np_rank_bands){ 0 };
}

int np_rank_links(const struct np_rank *rank, uint32_t group, struct np_rank_links *ret,
		  struct np_err *err)
{
	const struct np_packed_rows *packed = rank->packed_rows;
	struct np_link *links;

	*ret = (struct np_rank_links){ 0 };
	if (!packed) {
		*ret = (struct np_rank_links){ rank->links.item, rank->links.count, NULL };
		return NP_OK;
	}
	if (packed->groups[group].count == 0)
		return NP_OK;
	links = malloc(packed->groups[group].count * sizeof(*links));
	if (!links)
		return np_fail_nomem(err, "the rows of a rank");
	get_links_of(packed, group, links);
	*ret = (struct np_rank_links){ links, packed->groups[group].count, links };
	return NP_OK;
}

void np_rank_links_release(struct np_rank_links *links)
{
	free(links->own);
	*links = (struct np_rank_links){ 0 };
}

int np_rank_unpack_rows(struct np_rank *rank, struct np_err *err)
{
	struct np_packed_rows *packed = rank->packed_rows;
	size_t links = 0;

	if (!packed)
		return NP_OK;
	if (np_vec_reserve(&rank->bands, packed->band_count, err) < 0 ||
	    np_vec_reserve(&rank->links, packed->link_count, err) < 0)
		return NP_E_NOMEM;
	get_bands(packed, rank->bands.item);
	for (uint32_t i = 0; i < rank->groups.count; i++) {
		if (packed->groups[i].count > 0)
			get_links_of(packed, i, &rank->links.item[links]);
		links += packed->groups[i].count;
	}
	rank->bands.count = packed->band_count;
	rank->links.count = packed->link_count;
	free(NP_STEAL(rank->packed_rows));
	return NP_OK;
}

size_t np_rank_band_count(const struct np_rank *rank)
{
	return rank->packed_rows ? rank->packed_rows->counted + rank->packed_rows->band_count
				 : rank->bands.count;
}
