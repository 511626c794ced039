//! The receiving end: reassembly, when to acknowledge, what the acknowledgement says.

use crate::bits::SegmentSet;
use crate::clock;
use crate::packet::{Ack, BASE_HEADER, Block, Data, MAX_SACK_BLOCKS, SYN_BYTES, TIMESTAMP_OPTION, ack_bytes, flag};
use measure::ReceiverMeter;
use mechanism::Control;
use mechanism::sock::{TcpSock, ack_pending, ca_event, ecn};
use scenario::model::{FlowGroup, Stack};
use scenario::units::Nanos;

/// `TCP_MAX_QUICKACKS`: segments acknowledged at once after the start or a surprise.
const MAX_QUICKACKS: u8 = 16;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const ATO_MIN: Nanos = Nanos::from_millis(40);
/// `TCP_DELACK_MAX`.
const DELACK_MAX: Nanos = Nanos::from_millis(200);
/// The largest window that can be offered, without and with scaling (RFC 7323, section 2).
const UNSCALED_WINDOW: u32 = 65_535;
const SCALED_WINDOW: u32 = 65_535 << 14;
const FIRST_CAPACITY: u32 = 64;

/// What arrived above the next segment in order.
struct OutOfOrder {
    received: SegmentSet,
    capacity: u32,
    /// One above the highest segment received.
    top: u32,
    /// SACK blocks, the one that changed last first.
    blocks: [Block; MAX_SACK_BLOCKS],
    block_count: usize,
    /// Payload that the last segment of a transfer, if it waits here, lacks to a full one: it leaves when all have left.
    short_by: u64,
}

/// The receiving end of one connection.
pub struct Receiver {
    flow: u32,
    stack: Stack,
    mss: u32,
    window: u32,
    /// The next segment in order.
    next: u32,
    /// What the last acknowledgement said.
    acked: u32,
    out_of_order: OutOfOrder,
    /// A duplicate to report in the next acknowledgement (RFC 2883).
    duplicate: Option<Block>,
    /// The timestamp to echo (RFC 7323, section 4).
    ts_recent: u32,
    quick: u8,
    ato: Nanos,
    last_arrival: Option<Nanos>,
    /// When a delayed acknowledgement is due.
    delayed_until: Nanos,
    echo_ce: bool,
    /// The socket of a control that needs ECN: it decides at this end what is echoed.
    socket: Option<Box<TcpSock>>,
    pub meter: ReceiverMeter,
}

/// Acknowledgements that one segment calls forth: at most one for the state before it, and one for the state after.
pub type Answers = [Option<Ack>; 2];

impl Receiver {
    /// The receiver of flow `flow`. `control`: of its flow, if it needs ECN.
    pub fn new(flow: u32, group: &FlowGroup, control: Option<&Control>, mss: u32, meter: ReceiverMeter) -> Receiver {
        let stack = Stack { ecn: group.stack.ecn || control.is_some(), ..group.stack };
        let largest = if stack.window_scaling { SCALED_WINDOW } else { UNSCALED_WINDOW };
        let window = group.receive_window.map_or(largest, |w| w.0.min(largest as u64) as u32);
        let socket = control.map(|control| {
            let mut sk = Box::new(TcpSock { ecn_flags: ecn::OK, mss_cache: mss, rcv_nxt: 1, ..Default::default() });
            control.init(&mut sk);
            sk
        });
        Receiver {
            flow,
            stack,
            mss,
            window,
            next: 0,
            acked: 0,
            out_of_order: OutOfOrder::new(),
            duplicate: None,
            ts_recent: 0,
            quick: 0,
            ato: ATO_MIN,
            last_arrival: None,
            delayed_until: Nanos::NEVER,
            echo_ce: false,
            socket,
            meter,
        }
    }

    /// When a delayed acknowledgement is due; `Nanos::NEVER` if none is held back.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.delayed_until
    }

    /// The delayed-acknowledgement timer rang.
    pub fn wake(&mut self, now: Nanos) -> Option<Ack> {
        if self.delayed_until > now {
            return None;
        }
        Some(self.acknowledge(now))
    }

    /// A segment arrives.
    pub fn on_data(&mut self, control: &Control, now: Nanos, data: &Data) -> Answers {
        if data.flags & flag::SYN != 0 {
            return [None, Some(self.syn_ack(now, data))];
        }
        self.meter.arrived(now, data.bytes as u32);
        let early = self.note_congestion(control, now, data);
        if data.segment <= self.acked {
            self.ts_recent = data.tsval;
        }
        let urgent = if data.segment == self.next {
            self.in_order(now, data)
        } else if data.segment > self.next && !self.out_of_order.holds(data.segment) {
            self.out_of_order.add(data.segment, self.next);
            self.out_of_order.short_by += self.mss as u64 - self.payload(data);
            true
        } else {
            self.duplicate = Some(Block { start: data.segment, end: data.segment + 1 });
            self.quick = self.quick_budget(MAX_QUICKACKS);
            true
        };
        self.last_arrival = Some(now);
        let forced = self.take_forced_acknowledgement();
        [
            early,
            (urgent || forced || self.must_acknowledge()).then(|| self.acknowledge(now)).or_else(|| self.delay(now)),
        ]
    }

    fn syn_ack(&mut self, now: Nanos, syn: &Data) -> Ack {
        self.ts_recent = syn.tsval;
        let agreed = self.stack.ecn && syn.flags & flag::ECE != 0;
        let mut ack = self.acknowledge(now);
        ack.bytes = SYN_BYTES as u16;
        ack.flags = flag::SYN | if agreed { flag::ECE } else { 0 };
        // The first data segments are acknowledged at once (tcp_event_data_recv).
        self.quick = self.quick_budget(MAX_QUICKACKS);
        ack
    }

    /// Takes the next segment, and those that waited for it. True: acknowledge at once.
    fn in_order(&mut self, now: Nanos, data: &Data) -> bool {
        let had_holes = !self.out_of_order.is_empty();
        self.next += 1;
        if had_holes {
            self.next = self.out_of_order.advance(self.next);
        }
        let mut payload = self.payload(data) + (self.next - data.segment - 1) as u64 * self.mss as u64;
        if self.out_of_order.is_empty() {
            payload -= std::mem::take(&mut self.out_of_order.short_by);
        }
        self.meter.delivered(now, payload);
        self.adapt_delay(now);
        // RFC 5681, section 4.2: at once while holes remain, and when the last is filled.
        had_holes
    }

    fn payload(&self, data: &Data) -> u64 {
        let options = if self.stack.timestamps { TIMESTAMP_OPTION } else { 0 };
        (data.bytes as u32 - BASE_HEADER - options) as u64
    }

    /// `tcp_event_data_recv`: the delay follows the spacing of the segments.
    fn adapt_delay(&mut self, now: Nanos) {
        let Some(last) = self.last_arrival else { return };
        let gap = now - last;
        if gap <= Nanos(ATO_MIN.0 / 2) {
            self.ato = Nanos(self.ato.0 / 2 + ATO_MIN.0 / 2);
        } else if gap < self.ato {
            self.ato = Nanos(self.ato.0 / 2 + gap.0);
        }
    }

    /// `tcp_incr_quickack`.
    fn quick_budget(&self, most: u8) -> u8 {
        if !self.stack.quick_ack {
            return 0;
        }
        let by_window = (self.window / (2 * self.mss)).max(2);
        (by_window.min(most as u32) as u8).max(self.quick)
    }

    fn must_acknowledge(&self) -> bool {
        !self.stack.delayed_ack || self.quick > 0 || self.next - self.acked >= 2
    }

    /// Holds the acknowledgement back.
    fn delay(&mut self, now: Nanos) -> Option<Ack> {
        self.delayed_until = self.delayed_until.min(now + self.ato.min(DELACK_MAX));
        if let Some(sk) = &mut self.socket {
            sk.inet_conn.icsk_ack.pending |= ack_pending::SCHED | ack_pending::TIMER;
        }
        None
    }

    /// The acknowledgement of all that has arrived.
    fn acknowledge(&mut self, now: Nanos) -> Ack {
        let ack = self.acknowledgement_of(self.next, now);
        self.acked = self.next;
        self.delayed_until = Nanos::NEVER;
        self.quick = self.quick.saturating_sub(1);
        if let Some(sk) = &mut self.socket {
            sk.inet_conn.icsk_ack.pending = 0;
            sk.rcv_wup = sk.rcv_nxt;
        }
        ack
    }

    fn acknowledgement_of(&mut self, next: u32, now: Nanos) -> Ack {
        let mut blocks = [Block::default(); MAX_SACK_BLOCKS];
        let mut count = 0;
        if self.stack.sack {
            let most = MAX_SACK_BLOCKS - self.stack.timestamps as usize;
            let known = self.out_of_order.blocks[..self.out_of_order.block_count].iter().copied();
            for (slot, block) in blocks.iter_mut().zip(self.duplicate.take().into_iter().chain(known)).take(most) {
                *slot = block;
                count += 1;
            }
        }
        Ack {
            flow: self.flow,
            next,
            tsval: clock::timestamp(now),
            tsecr: if self.stack.timestamps { self.ts_recent } else { 0 },
            window: self.window,
            bytes: ack_bytes(self.stack.timestamps, count),
            flags: if self.echo_ce { flag::ECE } else { 0 },
            block_count: count as u8,
            blocks,
        }
    }

    // ECN (RFC 3168; DCTCP's own echo where the control asks for it).

    /// Takes note of a mark. Some: an acknowledgement for the state before this segment.
    fn note_congestion(&mut self, control: &Control, now: Nanos, data: &Data) -> Option<Ack> {
        if !self.stack.ecn {
            return None;
        }
        let marked = data.flags & flag::CE != 0;
        if self.socket.is_some() {
            let event = if marked { ca_event::ECN_IS_CE } else { ca_event::ECN_NO_CE };
            return self.ask_control(control, event, now);
        }
        if data.flags & flag::CWR != 0 {
            self.echo_ce = false;
        }
        if marked {
            if !self.echo_ce {
                self.quick = self.quick_budget(2);
            }
            self.echo_ce = true;
        }
        None
    }

    /// The control's receiving half decides what is echoed from now on.
    fn ask_control(&mut self, control: &Control, event: u32, now: Nanos) -> Option<Ack> {
        let mut sk = self.socket.take()?;
        let isn = 1u32;
        sk.rcv_nxt = isn.wrapping_add(self.next.wrapping_mul(self.mss));
        let prior_echo = sk.ecn_flags & ecn::DEMAND_CWR != 0;
        control.cwnd_event(&mut sk, event);
        let early = (std::mem::take(&mut sk.sim.send_ack_pending) != 0).then_some(sk.sim.send_ack_rcv_nxt);
        let echo = sk.ecn_flags & ecn::DEMAND_CWR != 0;
        self.socket = Some(sk);
        let answer = early.map(|rcv_nxt| {
            // The acknowledgement held back reports the state before the change.
            self.echo_ce = prior_echo;
            let next = rcv_nxt.wrapping_sub(isn) / self.mss;
            self.acked = next;
            self.acknowledgement_of(next, now)
        });
        self.echo_ce = echo;
        answer
    }

    /// The control set `ICSK_ACK_NOW`.
    fn take_forced_acknowledgement(&mut self) -> bool {
        let Some(sk) = &mut self.socket else { return false };
        let forced = sk.inet_conn.icsk_ack.pending & ack_pending::NOW != 0;
        sk.inet_conn.icsk_ack.pending &= !ack_pending::NOW;
        forced
    }

    /// Frees what the control holds for this end's socket.
    pub fn close(&mut self, control: &Control) {
        if let Some(mut sk) = self.socket.take() {
            control.release(&mut sk);
        }
    }
}

impl OutOfOrder {
    fn new() -> OutOfOrder {
        OutOfOrder {
            received: SegmentSet::new(FIRST_CAPACITY),
            capacity: FIRST_CAPACITY,
            top: 0,
            blocks: [Block::default(); MAX_SACK_BLOCKS],
            block_count: 0,
            short_by: 0,
        }
    }

    /// Segments at or above `top` have not arrived, wherever their bit would stand.
    fn holds(&self, segment: u32) -> bool {
        segment < self.top && self.received.contains(segment)
    }

    fn is_empty(&self) -> bool {
        self.received.len() == 0
    }

    /// Adds a segment above `next`, and brings the SACK blocks up to date: the block that holds it goes first (RFC 2018, section 4).
    fn add(&mut self, segment: u32, next: u32) {
        while segment - next >= self.capacity {
            self.received = self.received.grown(self.capacity * 2, next, self.top.max(next));
            self.capacity *= 2;
        }
        self.received.insert(segment);
        self.top = self.top.max(segment + 1);
        let mut merged = Block { start: segment, end: segment + 1 };
        let mut kept = 0;
        for i in 0..self.block_count {
            let block = self.blocks[i];
            if block.end == merged.start || merged.end == block.start {
                merged = Block { start: merged.start.min(block.start), end: merged.end.max(block.end) };
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.block_count = (kept + 1).min(MAX_SACK_BLOCKS);
        self.blocks.copy_within(0..self.block_count - 1, 1);
        self.blocks[0] = merged;
    }

    /// Removes the run that starts at `next`; returns the segment after it.
    fn advance(&mut self, mut next: u32) -> u32 {
        while next < self.top && self.received.contains(next) {
            self.received.remove(next);
            next += 1;
        }
        let mut kept = 0;
        for i in 0..self.block_count {
            if self.blocks[i].start >= next {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.block_count = kept;
        next
    }
}
