/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BPF_CORE_READ(s, a, b): s->a->b. Programs that see the socket's type may follow its pointers directly on both
 * targets.
 */
#ifndef UNBLOAT_CORE_READ_PATH_H
#define UNBLOAT_CORE_READ_PATH_H

#define unbloat_path_1(s, a) (s)->a
#define unbloat_path_2(s, a, b) (s)->a->b
#define unbloat_path_3(s, a, b, c) (s)->a->b->c
#define unbloat_path_4(s, a, b, c, d) (s)->a->b->c->d
#define unbloat_path_pick(_1, _2, _3, _4, pick, ...) pick
#define BPF_CORE_READ(s, a...) \
	unbloat_path_pick(a, unbloat_path_4, unbloat_path_3, unbloat_path_2, unbloat_path_1)(s, a)

#endif
