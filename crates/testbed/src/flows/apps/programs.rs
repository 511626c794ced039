//! Applications that decide themselves when they write or send: programs of the key `app`, and writers with a
//! `write_rate`.

use super::{AppEvent, Apps, CHUNK, send_some};
use crate::flows::refill::PAUSE;
use apps::SlowWriter;
use kernel::tcp_info::TcpInfo;
use model::units::Nanos;
use std::cmp::Reverse;
use std::io;

/// Segments that are written into a send buffer at a time in virtual time: see `refill`.
const PIECE: u64 = 4;

impl Apps<'_> {
    /// Plans a program's next wake-up in the event queue.
    pub(super) fn plan_program(&mut self, program: u32) {
        let next = self.programs.next(program);
        if next != Nanos::NEVER && next != self.wakes[program as usize] {
            self.wakes[program as usize] = next;
            self.events.push(Reverse((next, AppEvent::Program(program))));
        }
    }

    /// Wakes a program at its planned time, unless it has put the action off. The program sees the planned time as the
    /// present, so that delays of this thread do not add up.
    pub(super) fn wake_program(&mut self, now: Nanos, program: u32) -> io::Result<()> {
        let due = self.programs.next(program);
        if due <= now {
            let mut actions = vec![];
            self.programs.wake(due, program, &mut actions);
            self.do_for_program(due, &actions)?;
        }
        self.plan_program(program);
        Ok(())
    }

    pub(super) fn do_for_program(&mut self, now: Nanos, actions: &[apps::Action]) -> io::Result<()> {
        for action in actions {
            match *action {
                apps::Action::Write { flow, segments } => {
                    let number = flow as usize;
                    self.flows[number].left += u64::from(segments) * self.plan.flows[number].segment;
                    self.fill_send_buffer(number)?;
                    self.tell_what_is_written(now, number);
                }
                apps::Action::TryToWrite { flow, segments } => {
                    let number = flow as usize;
                    let bytes = u64::from(segments) * self.plan.flows[number].segment;
                    let was_written = self.try_to_write(number, bytes)?;
                    self.programs.tried_to_write(now, flow, was_written);
                }
                apps::Action::Send { flow } => {
                    let flow = &mut self.flows[flow as usize];
                    if let Some(datagrams) = &mut flow.datagrams
                        && !datagrams.send(now)?
                    {
                        flow.refused.push(now);
                    }
                }
                apps::Action::SendBack { flow } => {
                    if let Some(datagrams) = &mut self.flows[flow as usize].datagrams {
                        datagrams.send_back(now)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a message if the socket takes some of it immediately, and returns whether it did. While the connection is
    /// being set up, one message may wait.
    fn try_to_write(&mut self, number: usize, bytes: u64) -> io::Result<bool> {
        let is_connecting = self.flows[number].waits_for_room;
        if self.flows[number].left > 0 {
            return Ok(false);
        }
        self.flows[number].left = bytes;
        self.fill_send_buffer(number)?;
        let flow = &mut self.flows[number];
        if is_connecting || flow.left < bytes {
            return Ok(true);
        }
        (flow.left, flow.waits_for_room) = (0, false);
        self.stop_writing(number)?;
        Ok(false)
    }

    /// Writes more of a flow's data, and informs its program.
    pub(super) fn write_on(&mut self, number: usize) -> io::Result<()> {
        self.fill_send_buffer(number)?;
        self.tell_what_is_written(self.clock.now(), number);
        Ok(())
    }

    /// Informs the program of a flow, if it has one, once all its data is written.
    fn tell_what_is_written(&mut self, now: Nanos, number: usize) {
        let flow = number as u32;
        let is_written = self.flows[number].left == 0;
        let Some(program) = self.programs.of(flow).filter(|_| is_written) else { return };
        self.programs.written(now, flow);
        self.plan_program(program);
    }

    /// Informs the program of a flow, if it has one, how many bytes have arrived in total.
    pub(super) fn tell_program(&mut self, number: usize) -> io::Result<()> {
        let flow = number as u32;
        let Some(program) = self.programs.of(flow) else { return Ok(()) };
        let (now, bytes) = (self.clock.now(), self.flows[number].receiver_meter.total_delivered);
        let mut actions = vec![];
        self.programs.delivered(now, flow, bytes, &mut actions);
        self.do_for_program(now, &actions)?;
        self.plan_program(program);
        Ok(())
    }

    /// Plans the next write of a flow's slow writer, if it has one.
    pub(super) fn plan_slow_writer(&mut self, number: usize) {
        if let Some(next) = self.flows[number].slow_writer.as_ref().and_then(SlowWriter::next) {
            self.events.push(Reverse((next, AppEvent::WriteSlowly(number))));
        }
    }

    /// Lets a slow writer write the data that is due.
    pub(super) fn write_slowly(&mut self, now: Nanos, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let (Some(writer), Some(sender)) = (&mut flow.slow_writer, &flow.sender) else { return Ok(()) };
        let segment = self.plan.flows[number].segment;
        let unsent = flow.left + TcpInfo::of(sender)?.notsent_bytes as u64;
        let written = u64::from(writer.write(now, unsent.div_ceil(segment) as u32)) * segment;
        flow.left += written.saturating_sub(writer.lacks().into());
        self.plan_slow_writer(number);
        self.fill_send_buffer(number)
    }

    /// Whether a flow's application writes into the send buffer as soon as it has data. Others write when TCP can send
    /// more.
    pub(super) fn fills_send_buffer(&self, number: usize) -> bool {
        self.plan.flows[number].has_send_buffer() || self.flows[number].slow_writer.is_some()
    }

    /// Writes as much of a flow's data as its send buffer has room for. In virtual time it writes piece by piece, so
    /// that packets are not delayed meanwhile.
    pub(super) fn fill_send_buffer(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        let Some(sender) = flow.sender.as_ref().filter(|_| !flow.pauses) else { return Ok(()) };
        let most = match self.clock.is_real() {
            true => CHUNK as u64,
            false => PIECE * self.plan.flows[number].segment,
        };
        while flow.left > 0 {
            match send_some(sender, flow.left.min(most) as usize, flow.left > most) {
                Ok(written) => flow.left -= written as u64,
                Err(nix::Error::EAGAIN) if flow.waits_for_room => return Ok(()),
                Err(nix::Error::EAGAIN) => {
                    flow.waits_for_room = true;
                    return self.waiting.watch_writing(sender, 3 * number + 1);
                }
                Err(error) => return Err(error.into()),
            }
            if !self.clock.is_real() && flow.left > 0 {
                flow.pauses = true;
                self.events.push(Reverse((self.clock.now() + PAUSE, AppEvent::Refill(number))));
                break;
            }
        }
        flow.waits_for_room = false;
        self.stop_writing(number)
    }
}
