//! Actions of programs at their hosts, and datagrams, which do not use TCP.

use super::{End, Simulation, Timer};
use crate::packet::{Band, Datagram, Packet};
use crate::tap::{PacketEvent, Tap};
use apps::Action;
use mechanism::{Classifier, ClassifyFlow, ClassifyPacket, PacketKind};
use model::app::{App, DatagramKind};
use model::units::Nanos;
use std::rc::Rc;

/// Length of the IPv4 and UDP headers, or of those of an ICMP echo, bytes.
const IP_AND_UDP: u64 = 28;
/// Number of packets under way beyond which a host has no memory for a datagram: some 800 MB. Linux bounds the memory
/// of a socket (`sk_sndbuf`, in sock_alloc_send_pskb), and a program that does not wait for it loses its datagram
/// (EAGAIN).
const MOST_UNDER_WAY: usize = 1 << 22;

impl<T: Tap> Simulation<'_, T> {
    pub(super) fn program_timer(&mut self, now: Nanos, program: u32) {
        let mut actions = vec![];
        self.programs.wake(now, program, &mut actions);
        self.act(now, program, &actions);
    }

    pub(super) fn set_program_timer(&mut self, program: u32) {
        self.set_timer(Timer::Program(program), self.programs.next(program));
    }

    /// Carries out the actions of a program.
    pub(super) fn act(&mut self, now: Nanos, program: u32, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Write { flow, segments } => {
                    self.with_sender(now, flow, |sender, env| sender.application_writes(env, segments));
                }
                Action::TryToWrite { flow, segments } => self.try_to_write(now, flow, segments),
                Action::Send { flow } => self.send_datagram(now, flow, now, false),
                Action::SendBack { flow } => self.send_datagram(now, flow, now, true),
            }
        }
        self.set_program_timer(program);
    }

    /// Writes `segments` for a program without blocking.
    fn try_to_write(&mut self, now: Nanos, flow: u32, segments: u32) {
        let has_room = self.senders[flow as usize].has_room_for_a_message();
        self.programs.tried_to_write(now, flow, has_room);
        if has_room {
            self.with_sender(now, flow, |sender, env| sender.application_writes(env, segments));
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn program_has_written(&mut self, now: Nanos, flow: u32) {
        let Some(program) = self.programs.of(flow) else { return };
        self.programs.written(now, flow);
        self.set_program_timer(program);
    }

    /// Sends a datagram that carries `sent_at`, from its host or as a reply from the other end's.
    fn send_datagram(&mut self, now: Nanos, flow: u32, sent_at: Nanos, is_reply: bool) {
        let group = &self.scenario.flows[self.group_of[flow as usize] as usize];
        let Some(datagrams) = group.datagrams() else { return };
        if self.is_foreign(if is_reply { End::Receiver(flow) } else { End::Sender(flow) }) {
            return;
        }
        let bytes = datagrams.packet.0 as u16;
        let counts = !is_reply && self.senders[flow as usize].meter.sent(now, false);
        if self.network.packets.is_full(MOST_UNDER_WAY) {
            return self.monitor.refused(flow, counts);
        }
        let kind = if datagrams.kind == DatagramKind::Ping { PacketKind::Other } else { PacketKind::Udp };
        let from_host = group.host.filter(|_| group.reverse == is_reply);
        let classifier = from_host.and_then(|host| self.classifiers[host].as_ref());
        let packet = ClassifyPacket { kind, tos: group.tos.into(), ..ClassifyPacket::default() };
        let band = |classifier: &Rc<Classifier>| classifier.band(now, &mut ClassifyFlow::default(), &packet);
        let band = classifier.and_then(band).map(Band::new);
        let datagram = Datagram { flow, sent_at, bytes, tos: group.tos, band, is_reply, counts };
        self.monitor.tap.datagram(now, PacketEvent::Sent, &datagram);
        self.network.send(now, datagram.route(), Packet::Datagram(datagram), &mut self.monitor);
    }

    #[cold]
    pub(super) fn datagram_arrives(&mut self, now: Nanos, datagram: &Datagram) {
        self.monitor.tap.datagram(now, PacketEvent::Arrived, datagram);
        let Datagram { flow, sent_at, bytes, is_reply, .. } = *datagram;
        if is_reply {
            return self.datagram_comes_back(now, flow, sent_at);
        }
        let meter = &mut self.receivers[flow as usize].meter;
        meter.arrived(now, bytes.into());
        meter.delivered(now, u64::from(bytes).saturating_sub(IP_AND_UDP));
        if self.programs.datagram_arrived(now, flow, sent_at) {
            self.send_datagram(now, flow, sent_at, true);
        }
        if let Some(program) = self.programs.of(flow) {
            self.set_program_timer(program);
        }
    }

    /// Reports a datagram to its program. The answer to a ping carries the send time of the ping; a packet of a call
    /// carries its own.
    fn datagram_comes_back(&mut self, now: Nanos, flow: u32, sent_at: Nanos) {
        let meter = &mut self.senders[flow as usize].meter;
        let mut count = |rtt: Nanos| meter.rtt(now, rtt.as_micros());
        match &self.scenario.flows[self.group_of[flow as usize] as usize].app {
            Some(App::Voice(_)) => {
                self.programs.datagram_came_back(now, flow, sent_at).into_iter().for_each(count);
            }
            _ => count(now - sent_at),
        }
    }
}
