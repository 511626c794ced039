//! The receiving applications: they read everything that has come, or a segment at a time at their `read_rate`.

use super::{AppEvent, Apps, CHUNK, Flow};
use crate::flows::sockets;
use model::units::Bytes;
use nix::sys::socket::{MsgFlags, recv};
use std::cmp::Reverse;
use std::io;
use std::os::fd::AsRawFd;

impl Apps<'_> {
    pub(super) fn read(&mut self, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        if flow.datagrams.is_some() {
            return self.read_datagrams(number);
        }
        let Some(socket) = &flow.receiver else { return Ok(()) };
        loop {
            // MSG_TRUNC: the bytes are not copied.
            match recv(socket.as_raw_fd(), &mut self.nowhere, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC) {
                Ok(0) => return self.waiting.unwatch(socket),
                Ok(length) => {
                    flow.receiver_meter.delivered(self.clock.now(), length as u64);
                    if length < CHUNK {
                        break; // The socket gave less than it was asked for: it is empty.
                    }
                }
                Err(nix::Error::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.tell_program(number)
    }

    pub(super) fn read_datagrams(&mut self, number: usize) -> io::Result<()> {
        let Flow { datagrams: Some(datagrams), receiver_meter, .. } = &mut self.flows[number] else { return Ok(()) };
        while let Some((sent_at, length)) = datagrams.receive(&mut self.nowhere)? {
            let now = self.clock.now();
            receiver_meter.delivered(now, length as u64);
            self.programs.datagram_arrived(now, number as u32, sent_at);
        }
        if let Some(program) = self.programs.of(number as u32) {
            self.plan_program(program);
        }
        Ok(())
    }

    /// Reads the datagrams that the other end of a call has sent, and notes the measured round-trip times.
    pub(super) fn read_what_came_back(&mut self, number: usize) -> io::Result<()> {
        let Flow { datagrams: Some(datagrams), round_trips, .. } = &mut self.flows[number] else { return Ok(()) };
        while let Some(sent_at) = datagrams.receive_back(&mut self.nowhere)? {
            let now = self.clock.now();
            let shown = self.programs.datagram_came_back(now, number as u32, sent_at);
            round_trips.extend(shown.into_iter().map(|rtt| (now, rtt)));
        }
        Ok(())
    }

    pub(super) fn reads_at_rate(&self, number: usize) -> bool {
        self.scenario.flows[self.plan.flows[number].group].read_rate.is_some()
    }

    /// Reads a segment of a flow with a `read_rate`, and plans the next read after the segment's time at that rate.
    pub(super) fn read_at_rate(&mut self, number: usize) -> io::Result<()> {
        let group = &self.plan.flows[number].settings;
        let (Some(socket), Some(rate)) = (&self.flows[number].receiver, group.read_rate) else { return Ok(()) };
        let segment = sockets::payload(group) as usize;
        let now = self.clock.now();
        self.waiting.unwatch(socket)?;
        match recv(socket.as_raw_fd(), &mut self.nowhere[..segment], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC) {
            Ok(0) => Ok(()),
            Ok(length) => {
                self.events.push(Reverse((now + rate.time_to_send(Bytes(length as u64)), AppEvent::Read(number))));
                self.flows[number].receiver_meter.delivered(now, length as u64);
                Ok(())
            }
            Err(nix::Error::EAGAIN) => self.waiting.watch(socket, 3 * number + 2),
            Err(error) => Err(error.into()),
        }
    }
}
