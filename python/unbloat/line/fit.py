"""The line that explains a measurement: direct estimates first, then the simulator in the loop.

The phase that loads a direction alone fits it. A candidate of each class of queue starts from what the samples show
directly. The simulator repeats the phase with the connections that the client opened. Some times over, a rate that the
samples do not show grows by the ratio of goodputs. The longest waits show the room of a buffer at that rate. The
candidate whose goodput, delays and losses differ least from the measured ones is the fit. A search along rate, target
and burst ends it. The range of a key is the spread of simulations with other seeds and slightly other starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from unbloat.line.candidates import (
    ENOUGH,
    LOSSY,
    OPEN,
    PENALTIES,
    RATE_BY_USE,
    SURE_RATE,
    UNFILLED,
    Candidate,
    corrected,
    difference,
    first_sides,
    is_open,
    known_bps,
    penalty,
    room_of,
    shown_bps,
    stepped,
)
from unbloat.line.evidence import Evidence, View, evidence_of
from unbloat.line.fitted import Fit, Range, where
from unbloat.line.loss_bursts import loss_burst
from unbloat.line.measurement import DIRECTIONS, Direction, Measurement, PhaseName
from unbloat.line.model import (
    PACKET_BYTES,
    PAYLOAD_BYTES,
    PROBE_BYTES,
    Kind,
    Line,
    Side,
)
from unbloat.line.others import CALM_MS, LEAST_PROBES, LEAST_SHARE, others_share
from unbloat.line.policers import ALIKE, FAST_LINE, loses_tokens, on_faster_line, plausible_factor
from unbloat.line.ranges import factor_and_spread, loss_range, moved, target_range, value_of, whole_packets
from unbloat.line.repeats import Repeats
from unbloat.line.unsteady import is_unsteady
from unbloat.line.varying import along_goodput, along_packets

ROUNDS = 6
"""Corrections of a candidate."""
FAR = 1.2
"""A candidate whose score is this much worse than the best one's is left alone."""
STEPS = (0.2, 0.08, 0.03)
"""Relative steps of the search around the best candidate."""
DOUBTFUL = 2.9
"""A score at which a rate that the samples seem to show may be a chance of single packets."""
GOOD = 0.25
"""A score at which no search is needed."""
FEW_LOSSES, CHANCES = 40, 6
"""Where fewer segments were resent, the course of a phase depends on which they were: more chances are tried."""
CHANCE = 0.1
"""Medians of scores that differ by less are alike."""


RARE = 0.001
"""Rarer losses may be random ones: a buffer that overflows loses many packets at once."""
SURELY_VARYING = 0.3
"""How much worse than a constant rate's a score may be where the parts of the phase show that the rate varies."""
LEAST_CHANGE_OF_RATE = 0.1
"""How much a rate must change from phase to phase, as a logarithm, if samples show it directly."""
ACK_BYTES = 64
"""The IP length of an acknowledgement with timestamps and a selective one."""
LEAST_CHANGE = 0.08
"""Relative changes of the rate below this one are taken for chance."""
SURE = 0.9
"""A score below which load both ways must be as the line says; otherwise it may be chance."""
BUSY = 0.8
"""The least share of the time in which packets wait on a line that is full."""


def fit(measurement: Measurement, *, seed: int = 1) -> Fit:
    """Fit a line; equal measurements and seeds give equal lines."""
    return Fitter(evidence_of(measurement), seed).fit()


class Fitter:
    """Fits one line."""

    def __init__(self, evidence: Evidence, seed: int) -> None:
        self._evidence = evidence
        self._repeats = Repeats(evidence, seed)
        self._why_not: list[str] = []
        self._notes: list[str] = []
        self._ranges: dict[Direction, dict[str, Range]] = {}
        self._spreads: dict[Direction, float] = {}
        self._opened: dict[Direction, Side] = {}
        self.candidates: dict[Direction, dict[str, Candidate]] = {}
        """What was tried, by direction and class."""
        self.chosen: dict[Direction, Candidate] = {}
        """The best candidates, by direction."""

    def fit(self) -> Fit:
        """Fit each direction alone, then look whether both together are as they must be."""
        evidence = self._evidence
        phases = {each: self._phase(each) for each in DIRECTIONS}
        measured = {each: evidence.views[phase, each] for each, phase in phases.items() if phase}
        if not measured or math.isnan(evidence.base_rtt_ms):
            side = Side(1e6, 64e3)
            line = Line(side, side, max(0.0, evidence.base_rtt_ms / 1e3) if evidence.base_rtt_ms > 0 else 0.02)
            why = "no probe was answered" if measured else "no connection carried data"
            return Fit(line, {}, dict.fromkeys(DIRECTIONS, "unknown"), "beyond", 100.0, False, (why,))
        line = self._first(measured)
        kinds: dict[Direction, Kind] = dict.fromkeys(DIRECTIONS, "unknown")
        chosen = self.chosen
        # The slower direction first: its acknowledgements matter least to the other one.
        for direction in sorted(measured, key=lambda each: measured[each].rate(0.3, 1.0)):
            phase = phases[direction]
            assert phase is not None
            best = self._best(line, phase, measured[direction])
            line = line.replaced(direction, **vars(best.side))
            best = self._settled(line, phase, measured[direction], best)
            line = line.replaced(direction, **vars(best.side))
            chosen[direction] = best
            kinds[direction] = best.side.kind if best.fits or best.score < 3 * ENOUGH else "unknown"
        line, kinds = self._together(line, kinds, chosen)
        # Load both ways is compared with the room that was used, so the larger one comes last.
        for direction, side in self._opened.items():
            line = line.replaced(direction, buffer_bytes=side.buffer_bytes, loss_percent=side.loss_percent)
        self._say_what_differs(chosen, measured)
        residual = max((each.residual for each in chosen.values()), default=1.0)
        fits = not self._why_not and all(each.fits for each in chosen.values())
        return Fit(
            line,
            self._keys(line),
            kinds,
            where(evidence, line),
            round(100 * min(residual, 10.0), 1),
            fits,
            tuple(dict.fromkeys(self._why_not)),
            tuple(self._notes),
        )

    def _phase(self, direction: Direction) -> PhaseName | None:
        """Return the phase that shows a direction best."""
        alone: PhaseName = "down" if direction == "down" else "up"
        return next((each for each in (alone, "both") if (each, direction) in self._evidence.views), None)

    def _first(self, measured: Mapping[Direction, View]) -> Line:
        """Return the line that samples suggest directly; a direction without load is as fast as the other."""
        found = {each: first_sides(seen, self._evidence.idle_loss, 4)["fifo"] for each, seen in measured.items()}
        fastest = max(found.values(), key=lambda side: side.rate_bps)
        up, down = (found.get(each, Side(fastest.rate_bps, max(64e3, fastest.buffer_bytes))) for each in ("up", "down"))
        return Line(up, down, self._base_rtt_s(up, down))

    def _base_rtt_s(self, up: Side, down: Side) -> float:
        """Return the base RTT without the time that a probe takes to be sent."""
        sending_s = sum(PROBE_BYTES * 8 / (side.line_bps or side.rate_bps) for side in (up, down))
        return max(0.0002, self._evidence.base_rtt_ms / 1e3 - sending_s)

    def _best(self, line: Line, phase: PhaseName, measured: View) -> Candidate:
        """Refine a candidate of each class; return the best."""
        tried = self.candidates.setdefault(measured.direction, {})
        sides = first_sides(measured, self._evidence.idle_loss, self._connections(phase, measured))
        for name, side in sides.items():
            tried[name] = self._refined(line, phase, measured, Candidate(side), range(3))
        lowest = min(each.score for each in tried.values())
        if lowest > DOUBTFUL and (math.isfinite(measured.link_bps) or math.isfinite(measured.stretches_bps)):
            measured.doubt_rate()
            return self._best(line, phase, measured)
        limit = lowest + FAR
        for name, candidate in tried.items():
            if candidate.score < limit:
                tried[name] = self._refined(line, phase, measured, candidate, range(3, ROUNDS))
        for name in UNFILLED if measured.resent[-1] < FEW_LOSSES else ():
            if name in tried and tried[name].score < limit:
                turns = range(ROUNDS, ROUNDS + CHANCES)
                tried[name] = self._refined(line, phase, measured, tried[name], turns)
        name = min(tried, key=lambda each: tried[each].score + penalty(each, measured))
        if tried[name].side.discipline == "policer":
            name = self._likeliest(line, phase, measured, name)
        tried[name] = self._searched(line, phase, measured, tried[name])
        return tried[name]

    def _likeliest(self, line: Line, phase: PhaseName, measured: View, best: str) -> str:
        """Return the name of the policer that replicas say explains a phase best."""
        tried = self.candidates[measured.direction]
        faster = Candidate(on_faster_line(tried[best].side))
        tried[FAST_LINE] = self._refined(line, phase, measured, faster, range(ROUNDS))
        limit = tried[best].score + ALIKE
        names = [name for name, each in tried.items() if each.side.discipline == "policer" and each.score < limit]
        if len(names) == 1:
            return names[0]
        scores: dict[str, float] = {}
        for name in names:
            scores[name] = self._repeats.median_score(line, phase, measured, tried[name].side)
        return min(scores, key=scores.__getitem__)

    def _searched(self, line: Line, phase: PhaseName, measured: View, best: Candidate) -> Candidate:
        """Step along each parameter as long as the score falls, with ever smaller steps."""
        is_known = math.isfinite(known_bps(best.side, measured))
        names = ("limit",) if is_known else ("rate", "limit", "line")
        for step in STEPS:
            for name in names:
                for factor in (1 + step, 1 / (1 + step)):
                    while best.score > GOOD and (side := stepped(best.side, name, factor)):
                        seen = self._repeats.once(line.replaced(measured.direction, **vars(side)), phase)
                        score, residual = difference(
                            measured, seen.get(measured.direction), side, self._evidence.idle_spread_ms
                        )
                        if score >= best.score - 0.01:
                            break
                        best = Candidate(side, score, residual, seen.get(measured.direction))
        return best

    def _connections(self, phase: PhaseName, measured: View) -> int:
        return len(self._evidence.plan.starts[phase][measured.direction])

    def _refined(
        self, line: Line, phase: PhaseName, measured: View, best: Candidate, turns: Sequence[int]
    ) -> Candidate:
        """Correct a candidate some times over; return the best of its forms."""
        direction = measured.direction
        side = corrected(best.side, measured, best.seen) if best.seen else best.side
        for turn in turns:
            seen = self._repeats.once(line.replaced(direction, **vars(side)), phase, turn).get(direction)
            score, residual = difference(measured, seen, side, self._evidence.idle_spread_ms)
            if score < best.score:
                best = Candidate(side, score, residual, seen)
            if seen is None:
                break
            side = corrected(side, measured, seen)
        return best

    def _settled(self, line: Line, phase: PhaseName, measured: View, best: Candidate) -> Candidate:
        """Correct the best candidate by the mean of replicas, see whether its rate is constant, and find its ranges."""
        direction = measured.direction
        replicas = self._repeats.many(line, phase, direction)
        if not replicas:
            return best
        best = replace(best, usual=self._repeats.usual(replicas, best.side))
        if changing := self._changing(line, phase, measured, best, replicas):
            best = changing
            line = line.replaced(direction, **vars(best.side))
            replicas = self._repeats.many(line, phase, direction) or replicas
            best = replace(best, usual=self._repeats.usual(replicas, best.side))
        side = self._with_rate(line, phase, best, replicas, measured)
        if side.discipline in ("fifo", "drophead"):
            side = self._with_room(line, phase, best, side, replicas, measured)
        if side.target_s:
            self._ranges[direction]["queue.target"] = target_range(side, measured, replicas)
        if side.loss_percent:
            self._ranges[direction]["loss"] = loss_range(side, measured)
        if side.discipline == "policer":
            self._ranges[direction]["policer.burst"] = (side.burst_bytes * 0.7, side.burst_bytes * 1.4)
        best = self._better(line, phase, best, side, measured)
        self._open_room(line, phase, best, measured)
        return best

    def _changing(
        self, line: Line, phase: PhaseName, measured: View, best: Candidate, replicas: Sequence[View]
    ) -> Candidate | None:
        """Return the candidate whose rate changes, if it explains the measurement better."""
        is_plain = best.side.discipline in ("fifo", "drophead")
        if not self._is_calm() or best.side.discipline == "policer":
            return None
        may_be_loss = best.side.loss_percent > 0 or self._may_be_loss(measured.direction, best)
        may_be_loss |= measured.retransmitted < RARE
        is_sure = is_unsteady(measured, replicas, may_be_loss=may_be_loss)
        if best.fits and not is_sure:
            return None
        tried = self.candidates[measured.direction]
        if measured.course.varies:
            side, score = along_packets(self._evidence, self._repeats, line, phase, measured, tried)
            found = self._refined(line, phase, measured, Candidate(side), range(3))
            most = ENOUGH if score < ENOUGH else 0.0
        else:
            start = best if is_plain else tried["fifo"]
            found = along_goodput(
                self._evidence, self._repeats, line, phase, measured, replace(start.side, discipline="fifo")
            )
            most = min(ENOUGH, best.score + (SURELY_VARYING if is_sure and is_plain else -PENALTIES["varying"]))
        tried["varying"] = found
        return found if found.score < most else None

    def _with_rate(
        self, line: Line, phase: PhaseName, best: Candidate, replicas: Sequence[View], measured: View
    ) -> Side:
        """Correct the rate by the goodput of replicas, and note its range."""
        direction, side = measured.direction, best.side
        shift, open_rate = factor_and_spread(
            [measured.rate(0.3, 1.0) / max(1.0, each.rate(0.3, 1.0)) for each in replicas],
            [measured.peak() / max(1.0, each.peak()) for each in replicas],
        )
        if math.isfinite(known := known_bps(side, measured)):
            shift = known / side.rate_bps
            open_rate = SURE_RATE if side.discipline == "policer" or side.rates else shown_bps(measured)[1]
            if known == measured.use_bps:
                seen = [each.use_bps / side.rate_bps for each in replicas if math.isfinite(each.use_bps)]
                factor, open_rate = factor_and_spread(seen) if len(seen) > 1 else (1.0, RATE_BY_USE)
                shift /= factor
        elif best.score < GOOD:
            shift = 1.0  # It repeats this measurement nearly exactly; replicas would only add chance.
        shift = plausible_factor(side, measured, shift)
        self._spreads[direction] = open_rate
        rate = side.rate_bps * shift
        is_filled = self._is_filled(line, phase, measured, side)
        most = rate * math.exp(open_rate) if is_filled else None
        key = "policer.rate" if side.discipline == "policer" else "rate"
        self._ranges[direction] = {key: (rate * math.exp(-open_rate), most)}
        if not is_filled:
            self._notes.append(f"the load never filled the line {direction}: it may be faster than it seems")
        return replace(side, rate_bps=rate, rates=tuple((at, each * shift) for at, each in side.rates))

    def _with_room(
        self, line: Line, phase: PhaseName, best: Candidate, side: Side, replicas: Sequence[View], measured: View
    ) -> Side:
        """Note the range of the buffer of a side, whose rate is corrected already; return the side with its room."""
        import numpy as np

        direction, old = measured.direction, best.side
        scaled = old.buffer_bytes * side.rate_bps / old.rate_bps
        spread = self._spreads[direction]
        if side.rates and not measured.course.varies:
            room, longest = scaled, measured.ahead.longest_bytes(side.rate_bps)
            high = measured.wait(0.98, 0.0)
            small = 0.3 + 0.3 * PACKET_BYTES * 8e3 / old.rate_bps
            waits = [math.log((high + small) / (each.wait(0.98, 0.0) + small)) for each in replicas]
            spread += 2 * float(np.std(waits))
        else:
            room = longest = room_of(measured, side.rate_bps, in_packets=side.in_packets)
        if not is_open(old, measured) and self._is_full(line, phase, best, room, measured):
            # The packet in transmission takes no room.
            wide = math.exp(spread + 0.02 + 0.3 * PACKET_BYTES / room)
            span = (room / wide, room * wide)
            self._ranges[direction]["queue.limit"] = whole_packets(*span) if side.in_packets else span
            return replace(side, buffer_bytes=room)
        self._ranges[direction]["queue.limit"] = (max(room, longest) * math.exp(-spread), None)
        return replace(side, buffer_bytes=max(room, scaled))

    def _is_full(self, line: Line, phase: PhaseName, best: Candidate, room: float, measured: View) -> bool:
        """Return whether the load filled the buffer: it lost packets there, or a larger buffer makes them wait longer.

        A buffer that overflows loses packets. Where random losses explain the measurement nearly as well, the larger
        buffer has as many.
        """
        direction = measured.direction
        if measured.retransmitted == 0:
            return False
        may_be_loss = best.side.loss_percent > 0 or self._may_be_loss(direction, best)
        may_be_loss |= measured.retransmitted < RARE
        if not may_be_loss and measured.retransmitted * measured.carried[-1] > 3 * PAYLOAD_BYTES:
            return True
        is_known = math.isfinite(measured.retransmitted)
        lost = measured.retransmitted if is_known else measured.probes_lost
        loss_percent = 100 * lost if may_be_loss else 0.0
        changed = line.replaced(
            direction, buffer_bytes=2 * room, loss_percent=loss_percent, loss_burst=loss_burst(measured)
        )
        larger = [self._repeats.once(changed, phase, 100 + number).get(direction) for number in range(3)]
        high = measured.ahead.longest_ms
        small = 0.3 + 0.3 * PACKET_BYTES * 8e3 / best.side.rate_bps
        return all(each is not None and each.ahead.longest_ms > 1.15 * high + small for each in larger)

    def _better(self, line: Line, phase: PhaseName, best: Candidate, side: Side, measured: View) -> Candidate:
        """Return the candidate with a corrected side, or the old one, to which the ranges then move."""
        import numpy as np

        direction = measured.direction
        replicas = self._repeats.many(line.replaced(direction, **vars(side)), phase, direction)
        found = [difference(measured, each, side, self._evidence.idle_spread_ms) for each in replicas]
        if not found or float(np.median([score for score, _ in found])) > best.score + 0.2 + 0.5 * best.usual:
            self._ranges[direction] = {
                key: moved(span, value_of(best.side, key) / value_of(side, key))
                for key, span in self._ranges[direction].items()
            }
            return best
        score, residual = (float(np.median([pair[place] for pair in found])) for place in (0, 1))
        return Candidate(side, min(score, best.score + 0.2), residual, best.seen, best.usual)

    def _open_room(self, line: Line, phase: PhaseName, best: Candidate, measured: View) -> None:
        """Note a side with more room than the load used, where that explains the measurement as well.

        With the room that was used at most, the next load may overflow the buffer, which the measured one did not. A
        cure would then seem to do less than it does.
        """
        direction, side = measured.direction, best.side
        span = self._ranges[direction].get("queue.limit")
        if span is None or span[1] is not None:
            return
        larger = side if is_open(side, measured) else replace(side, buffer_bytes=OPEN * side.buffer_bytes)
        if side.loss_percent and math.isfinite(measured.retransmitted):
            # A buffer that never overflows loses nothing, so all losses are random ones.
            larger = replace(larger, loss_percent=100 * measured.retransmitted)
        scores = [self._repeats.median_score(line, phase, measured, each) for each in (side, larger)]
        if larger == side or scores[1] > scores[0] + CHANCE:
            return
        if larger.loss_percent:
            self._ranges[direction]["loss"] = loss_range(larger, measured)
        self._opened[direction] = larger

    def _may_be_loss(self, direction: Direction, best: Candidate) -> bool:
        """Return whether random losses in a larger buffer explain the measurement nearly as well."""
        tried = self.candidates[direction]
        return any(tried[name].score < best.score + 0.3 for name in LOSSY if name in tried)

    def _is_calm(self) -> bool:
        """Return whether probes hardly wait without load."""
        return not self._others()

    def _others(self) -> list[str]:
        """Return sentences on the waits of probes without load, which others' packets or a radio cause."""
        evidence = self._evidence
        slowest = min((each.rate(0.3, 1.0) for each in evidence.views.values()), default=1e6)
        if evidence.idle_spread_ms >= CALM_MS + 0.5 * PACKET_BYTES * 8e3 / max(slowest, 1.0):
            spread = f"{evidence.idle_spread_ms:.0f} ms"
            return [f"RTTs differ by {spread} without load: other traffic, or a radio"]
        found = []
        for direction in DIRECTIONS:
            phase = self._phase(direction)
            waits_ms = evidence.idle_waits_ms[direction]
            if phase is None or len(waits_ms) < LEAST_PROBES:
                continue
            rate_bps = max(1.0, evidence.views[phase, direction].peak())
            share = others_share(waits_ms, rate_bps, evidence.idle_requests_hz)
            if share > LEAST_SHARE:
                found.append(
                    f"{100 * share:.0f} % of the probes {direction} wait without load: other traffic, or a radio"
                )
        return found

    def _is_filled(self, line: Line, phase: PhaseName, measured: View, side: Side) -> bool:
        """Return whether a faster line would have carried more."""
        import numpy as np

        if math.isfinite(known_bps(side, measured)):
            return True
        if loses_tokens(side, measured.base_rtt_s):
            return False
        rates = tuple((at, 1.5 * rate) for at, rate in side.rates)
        faster = line.replaced(
            measured.direction, rate_bps=1.5 * side.rate_bps, buffer_bytes=1.5 * side.buffer_bytes, rates=rates
        )
        # Goodput past a policer depends on chance.
        numbers = range(100, 103 if side.discipline == "policer" else 101)
        runs = [self._repeats.once(faster, phase, number).get(measured.direction) for number in numbers]
        carried = [each.rate(0.3, 1.0) for each in runs if each]
        return not carried or float(np.median(carried)) > 1.1 * measured.rate(0.3, 1.0)

    def _together(
        self, line: Line, kinds: dict[Direction, Kind], chosen: Mapping[Direction, Candidate]
    ) -> tuple[Line, dict[Direction, Kind]]:
        """Compare both directions' load at once with the line; rates that differ vary, or others use the line."""
        views = {each: self._evidence.views.get(("both", each)) for each in DIRECTIONS}
        line = replace(line, base_rtt_s=self._base_rtt_s(line.up, line.down))
        self._why_not += self._others()
        if not all(views.values()) or len(chosen) < 2:
            return line, kinds
        ratios = self._ratios(line)
        if any(self._is_off(each, *ratio) for each, ratio in ratios.items()):
            # Acknowledgements take as much room as data in a queue that counts packets.
            for in_packets in ((True, True), (True, False), (False, True)):
                counting = line
                for each, is_counting in zip(DIRECTIONS, in_packets, strict=True):
                    if line.side(each).discipline in ("fifo", "drophead"):
                        counting = counting.replaced(each, in_packets=is_counting)
                found = self._ratios(counting)
                if _off(found) < _off(ratios) - 0.05:
                    line, ratios = counting, found
        for direction in DIRECTIONS:
            change = self._change_of_rate(direction)
            if kinds[direction] == "fifo" and self._is_calm() and abs(math.log(change)) > LEAST_CHANGE_OF_RATE:
                kinds[direction] = "varying"
                line = self._with_step(line, direction, change)
        for direction, (ratio, spread) in ratios.items():
            if kinds[direction] == "varying" or not self._is_off(direction, ratio, spread):
                continue
            if self._evidence.views["both", direction].busy_share() < BUSY:
                continue  # Senders that leave the queue empty say nothing about its rate.
            is_sure = all(each.score < SURE for each in chosen.values()) and self._has_many_round_trips()
            if is_sure and self._is_calm() and kinds[direction] == "fifo":
                kinds[direction] = "varying"
                line = self._with_step(line, direction, ratio)
            elif not self._is_calm() or abs(math.log(ratio)) > 0.7:
                verb = "falls to" if ratio < 1 else "rises to"
                self._why_not.append(
                    f"goodput {direction} {verb} {100 * ratio:.0f} % of what the line gives with load both ways: "
                    "a rate that varies, or other traffic"
                )
        return line, kinds

    def _change_of_rate(self, direction: Direction) -> float:
        """Return the rate with load both ways by that with load one way, as samples show both; 1 if they do not."""
        phase = self._phase(direction)
        if phase is None or phase == "both":
            return 1.0
        alone, both = (self._evidence.views[each, direction].parts_bps for each in (phase, "both"))
        other: Direction = "up" if direction == "down" else "down"
        # Acknowledgements of the other direction share the line: at most one for each of its packets.
        acks_bps = self._evidence.views["both", other].rate(0, 1) * ACK_BYTES / PAYLOAD_BYTES
        if not math.isfinite(alone + both):
            return 1.0
        return max(1.0, both / alone) if both > alone else min(1.0, (both + acks_bps) / alone)

    def _has_many_round_trips(self) -> bool:
        """Return whether load both ways lasted for more than 15 round trips, so that its beginning hardly matters."""
        views = [self._evidence.views["both", each] for each in DIRECTIONS]
        waits_ms = sum(wait for each in views if math.isfinite(wait := each.wait(0.9)))
        return views[0].load_s * 1e3 > 15 * (self._evidence.base_rtt_ms + waits_ms)

    def _is_off(self, direction: Direction, ratio: float, spread: float) -> bool:
        usual = LEAST_CHANGE + 3 * spread + 1.5 * self._spreads.get(direction, 0.0)
        return abs(math.log(ratio)) > usual

    def _ratios(self, line: Line) -> dict[Direction, tuple[float, float]]:
        """Return measured by simulated goodput with load both ways, and its standard deviation in logarithms."""
        import numpy as np

        runs = [self._repeats.once(line, "both", 200 + number) for number in range(3)]
        found: dict[Direction, tuple[float, float]] = {}
        for direction in DIRECTIONS:
            seen = self._evidence.views["both", direction]
            goodputs = [max(1.0, each[direction].rate(0.3, 1.0)) for each in runs if direction in each]
            if goodputs:
                ratio = seen.rate(0.3, 1.0) / float(np.median(goodputs))
                found[direction] = (max(ratio, 0.01), float(np.std(np.log(goodputs))))
        return found

    def _with_step(self, line: Line, direction: Direction, ratio: float) -> Line:
        """Return a line whose rate changes before the phase that loads both directions."""
        side = line.side(direction)
        rates = (*side.rates, (round(max(0.001, self._evidence.starts_s["both"] - 0.5), 3), side.rate_bps * ratio))
        changed = [rate for _, rate in rates]
        self._ranges[direction]["rate"] = (min(side.rate_bps, *changed), max(side.rate_bps, *changed))
        return line.replaced(direction, rates=rates)

    def _say_what_differs(self, chosen: Mapping[Direction, Candidate], measured: Mapping[Direction, View]) -> None:
        """Name the sample that the fitted line explains worst."""
        for direction, candidate in chosen.items():
            seen, real = candidate.seen, measured[direction]
            if candidate.fits or seen is None:
                continue
            goodput = max(abs(a - b) for a, b in zip(seen.bins(), real.bins(), strict=True)) / max(1.0, real.rate(0, 1))
            wait = max(
                (abs(a - b) for a, b in zip(seen.waits(), real.waits(), strict=True) if math.isfinite(a - b)),
                default=0.0,
            )
            self._why_not.append(
                f"no line explains the direction {direction}: goodput differs by up to {100 * goodput:.0f} % of its "
                f"mean and the delay by up to {wait:.0f} ms for parts of the phase"
            )

    def _keys(self, line: Line) -> dict[str, Range]:
        """Return the ranges by the keys of the link."""
        evidence = self._evidence
        open_s = max(0.0002, evidence.idle_spread_ms / 2e3)
        delay_s = line.base_rtt_s / 2
        factor = 1 + open_s / delay_s
        found: dict[str, Range] = {"link.line.delay": (delay_s / factor, delay_s * factor)}
        for direction, ranges in self._ranges.items():
            head = "link.line." if direction == "up" else "link.line.reverse."
            found |= {f"{head}{key}": value for key, value in ranges.items()}
        return found


def _off(ratios: Mapping[Direction, tuple[float, float]]) -> float:
    return sum(abs(math.log(ratio)) for ratio, _ in ratios.values())
