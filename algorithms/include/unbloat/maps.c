/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: hash and array maps. They belong to the loaded instance and go with it. There is one processor, so a
 * map for each processor is a plain one.
 */
#include "unbloat/runtime.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

struct entry {
	struct entry *next;
	_Alignas(16) unsigned char bytes[]; /* the key, then the value at value_at() */
};

/* The contents of a map, made when it is first used. */
struct contents {
	struct contents *next;
	const void *map;
	__u32 entries;
	unsigned char *array;		/* of values */
	struct entry *buckets[BUCKETS]; /* of a hash map */
};

static struct contents *all;

static size_t value_at(const struct unbloat_map *map)
{
	return (map->key_size + 15) & ~(size_t)15;
}

static struct contents *contents_of(const struct unbloat_map *map)
{
	struct contents *held;

	for (held = all; held; held = held->next)
		if (held->map == map->identity)
			return held;
	held = calloc(1, sizeof(*held));
	if (!held)
		return NULL;
	if (map->is_array)
		held->array = calloc(map->max_entries, map->value_size);
	held->map = map->identity;
	held->next = all;
	return all = held;
}

/* FNV-1a. */
static __u32 bucket_of(const struct unbloat_map *map, const void *key)
{
	const unsigned char *bytes = key;
	__u32 hash = 2166136261u;

	for (size_t i = 0; i < map->key_size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash % BUCKETS;
}

/* The link that leads to the key's entry, or to the end of its bucket. */
static struct entry **find(const struct unbloat_map *map, struct contents *held, const void *key)
{
	struct entry **link = &held->buckets[bucket_of(map, key)];

	while (*link && memcmp((*link)->bytes, key, map->key_size))
		link = &(*link)->next;
	return link;
}

static void *array_value(const struct unbloat_map *map, struct contents *held, const void *key)
{
	__u32 index;

	memcpy(&index, key, sizeof(index));
	return held->array && index < map->max_entries ? held->array + index * map->value_size : NULL;
}

void *unbloat_map_lookup(struct unbloat_map map, const void *key)
{
	struct contents *held = contents_of(&map);

	if (!held)
		return NULL;
	if (map.is_array)
		return array_value(&map, held, key);
	struct entry *entry = *find(&map, held, key);

	return entry ? entry->bytes + value_at(&map) : NULL;
}

long unbloat_map_update(struct unbloat_map map, const void *key, const void *value, __u64 flags)
{
	struct contents *held = contents_of(&map);
	void *place = unbloat_map_lookup(map, key);

	if (!held)
		return -ENOMEM;
	if (place && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!place && map.is_array)
		return -E2BIG;
	if (!place && flags == BPF_EXIST)
		return -ENOENT;
	if (!place) {
		if (held->entries == map.max_entries)
			return -E2BIG;
		struct entry **link = find(&map, held, key);

		*link = calloc(1, sizeof(**link) + value_at(&map) + map.value_size);
		if (!*link)
			return -ENOMEM;
		memcpy((*link)->bytes, key, map.key_size);
		held->entries++;
		place = (*link)->bytes + value_at(&map);
	}
	memcpy(place, value, map.value_size);
	return 0;
}

/* Fills a map, as user space does before a program runs. */
long unbloat_map_fill(const struct unbloat_map *map, const void *key, const void *value)
{
	return unbloat_map_update(*map, key, value, BPF_ANY);
}

long unbloat_map_delete(struct unbloat_map map, const void *key)
{
	struct contents *held = contents_of(&map);

	if (!held)
		return -ENOMEM;
	if (map.is_array)
		return -EINVAL;
	struct entry **link = find(&map, held, key), *entry = *link;

	if (!entry)
		return -ENOENT;
	*link = entry->next;
	held->entries--;
	free(entry);
	return 0;
}

/* As the kernel: `body` ends it by returning 1, and may delete the entry that it was given. Returns the calls. */
long unbloat_for_each_map_elem(struct unbloat_map map, void *body, void *ctx, __u64 flags)
{
	long (*step)(const void *map, const void *key, void *value, void *ctx) = body;
	struct contents *held = contents_of(&map);
	long calls = 0;

	if (flags)
		return -EINVAL;
	if (!held)
		return -ENOMEM;
	for (__u32 index = 0; map.is_array && held->array && index < map.max_entries; index++) {
		calls++;
		if (step(map.identity, &index, held->array + index * map.value_size, ctx))
			return calls;
	}
	for (int i = 0; i < BUCKETS; i++)
		for (struct entry *entry = held->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			calls++;
			if (step(map.identity, entry->bytes, entry->bytes + value_at(&map), ctx))
				return calls;
		}
	return calls;
}

__attribute__((destructor)) static void free_all(void)
{
	while (all) {
		struct contents *held = all;

		for (int i = 0; i < BUCKETS; i++)
			while (held->buckets[i]) {
				struct entry *entry = held->buckets[i];

				held->buckets[i] = entry->next;
				free(entry);
			}
		all = held->next;
		free(held->array);
		free(held);
	}
}
