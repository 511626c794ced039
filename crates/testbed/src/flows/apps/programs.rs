//! Programs that say themselves when they write or send: those of `app`, and writers with a rate of their own.

use super::{AppEvent, Apps, CHUNK, send_some};
use crate::flows::refill::PAUSE;
use crate::flows::tcp_info::TcpInfo;
use apps::SlowWriter;
use model::units::Nanos;
use std::cmp::Reverse;
use std::io;

/// Segments that are written at once into a send buffer in virtual time: see `refill`.
const PIECE: u64 = 4;

impl Apps<'_> {
    /// Has the event queue wake a program when it next has something to do.
    pub(super) fn plan_program(&mut self, program: u32) {
        let next = self.programs.next(program);
        if next != Nanos::NEVER && next != self.wakes[program as usize] {
            self.wakes[program as usize] = next;
            self.events.push(Reverse((next, AppEvent::Program(program))));
        }
    }

    /// The time has come of what a program does by itself, unless it was put off. It takes that time for now: how late
    /// this thread is does not add up.
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

    /// Writes a message if the socket takes some of it at once. While the connection is being made one may wait.
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

    /// Goes on with what a flow has to write.
    pub(super) fn write_on(&mut self, number: usize) -> io::Result<()> {
        self.fill_send_buffer(number)?;
        self.tell_what_is_written(self.clock.now(), number);
        Ok(())
    }

    /// Tells the program of a flow, if it has one, that all of what it had to write is written, if that is so.
    fn tell_what_is_written(&mut self, now: Nanos, number: usize) {
        let flow = number as u32;
        let is_written = self.flows[number].left == 0;
        let Some(program) = self.programs.of(flow).filter(|_| is_written) else { return };
        self.programs.written(now, flow);
        self.plan_program(program);
    }

    /// Tells the program of a flow, if it has one, what has come to it in all.
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

    /// Has the event queue let the slow writer of a flow, if it has one, write in time.
    pub(super) fn plan_slow_writer(&mut self, number: usize) {
        if let Some(next) = self.flows[number].slow_writer.as_ref().and_then(SlowWriter::next) {
            self.events.push(Reverse((next, AppEvent::WriteSlowly(number))));
        }
    }

    /// A slow writer writes what is due.
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

    /// Does it write into its send buffer when it has something to write? Others write when TCP wants more.
    pub(super) fn fills_send_buffer(&self, number: usize) -> bool {
        self.plan.flows[number].has_send_buffer() || self.flows[number].slow_writer.is_some()
    }

    /// Writes what a flow has to write and what its send buffer has room for. In virtual time it does so piece by
    /// piece, so that packets are not held up meanwhile.
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
