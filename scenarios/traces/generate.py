#!/usr/bin/env python3
"""Makes a cellular link's trace: delivery opportunities of a Markov-modulated Poisson process.

The link is in one of a few states, each with a mean rate. It stays there for an exponentially distributed time and then
moves to a neighbouring state, as a moving phone gets nearer to its base station or farther from it. Within a state the
opportunities, 1500 bytes each, come as a Poisson process. One line of the output is the millisecond of one opportunity.

The same arguments give the same file. `lte-small.down` beside this script is what it prints without arguments.
"""

import argparse
import random
import sys

OPPORTUNITY_BITS = 1500 * 8
# Mean rates of the states in Mbit/s, and how long the link stays in one, in seconds: measured LTE links vary about so.
STATE_MBPS = (0.3, 2.0, 5.0, 9.0, 14.0)
STATE_SECONDS = (0.4, 1.5, 2.0, 2.0, 1.5)


def opportunities(seconds: float, rng: random.Random) -> list[int]:
    """Milliseconds of all opportunities up to `seconds`, not decreasing."""
    times: list[int] = []
    state = len(STATE_MBPS) // 2
    now = 0.0
    while now < seconds:
        leaves = min(seconds, now + rng.expovariate(1 / STATE_SECONDS[state]))
        rate = STATE_MBPS[state] * 1e6 / OPPORTUNITY_BITS
        at = now + rng.expovariate(rate)
        while at < leaves:
            times.append(int(at * 1000))
            at += rng.expovariate(rate)
        now = leaves
        state = neighbour(state, rng)
    # The last line is where the trace starts again, so it stands at the full length.
    return [*times, int(seconds * 1000)]


def neighbour(state: int, rng: random.Random) -> int:
    """The next state: one better or one worse."""
    if state == 0:
        return 1
    if state == len(STATE_MBPS) - 1:
        return state - 1
    return state + rng.choice((-1, 1))


def positive(text: str) -> float:
    """A length in seconds, of at least one line's millisecond."""
    seconds = float(text)
    if not 0.001 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError("must be between 0.001 and 86400 seconds")
    return seconds


def main() -> None:
    """Prints a trace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=positive, default=20.0, help="length of the trace (default: 20)")
    parser.add_argument("--seed", type=int, default=7, help="seeds every random draw (default: 7)")
    arguments = parser.parse_args()
    times = opportunities(arguments.seconds, random.Random(arguments.seed))
    sys.stdout.write("".join(f"{at}\n" for at in times))


if __name__ == "__main__":
    main()
