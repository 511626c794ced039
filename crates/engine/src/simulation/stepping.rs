//! A simulation that its caller drives: step by step, with a look at its flows and links. The caller may also play ends
//! of flows in place of the simulator.

use super::records::flow_sample;
use super::{Left, Simulation, Timer, reply};
use crate::Error;
use crate::packet::{Ack, Data, Packet};
use crate::tap::{PacketEvent, Tap};
use measure::{FlowSample, LinkSample};
use mechanism::Fault;
use model::units::Nanos;
use path::PacketId;

/// The reason for which a simulation pauses.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Pause {
    /// The requested time has come.
    Due,
    /// A packet has come to a foreign end of its flow.
    Arrived(Packet),
    /// The run is over.
    Over,
}

/// One end of a flow, by the flow's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that opens the connection and sends the data.
    Sender(u32),
    /// The end that acknowledges the data.
    Receiver(u32),
}

impl End {
    /// The end that a packet comes from.
    fn origin(packet: &Packet) -> End {
        match *packet {
            Packet::Data(Data { flow, .. }) => End::Sender(flow),
            Packet::Ack(Ack { flow, .. }) => End::Receiver(flow),
            Packet::Datagram(datagram) if datagram.is_reply => End::Receiver(datagram.flow),
            Packet::Datagram(datagram) => End::Sender(datagram.flow),
        }
    }

    /// The end that a packet goes to.
    fn destination(packet: &Packet) -> End {
        match End::origin(packet) {
            End::Sender(flow) => End::Receiver(flow),
            End::Receiver(flow) => End::Sender(flow),
        }
    }
}

impl<T: Tap> Simulation<'_, T> {
    /// The simulated time; every earlier event has happened.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The number of flows; flow numbers count from 0, group by group.
    pub fn flow_count(&self) -> u32 {
        self.senders.len() as u32
    }

    /// Gives the state of flow `flow`, or `None` if the number is not below [`flow_count`](Self::flow_count).
    pub fn flow(&self, flow: u32) -> Option<FlowSample> {
        let ends = self.senders.get(flow as usize).zip(self.receivers.get(flow as usize));
        ends.map(|(sender, receiver)| flow_sample(sender, receiver))
    }

    /// Gives the state of every link that counts what passes it, in the order of the links' records.
    pub fn links(&mut self) -> Vec<LinkSample> {
        self.network.samples(self.now)
    }

    /// Lets time pass up to and including `time`, or until a packet comes to a foreign end. Time never goes back, and
    /// ends with the scenario's duration.
    ///
    /// # Errors
    /// A mechanism has a fault. The simulation cannot go on after that.
    pub fn step_until(&mut self, time: Nanos) -> Result<Pause, Error> {
        let until = time.max(self.now).min(self.scenario.duration);
        Fault::catch(|| self.step(until)).map_err(Error::Fault)
    }

    fn step(&mut self, until: Nanos) -> Pause {
        self.set_timer(Timer::End, until);
        loop {
            match self.carry_out_events() {
                Left::Tired | Left::Sampled => {}
                Left::Arrived(id) => return Pause::Arrived(self.take(id)),
                Left::Ended => {
                    self.now = until;
                    return if until == self.scenario.duration { Pause::Over } else { Pause::Due };
                }
            }
        }
    }

    /// Leaves an end of a flow to the caller. The simulator's own end falls silent, [`step_until`](Self::step_until)
    /// hands over packets that come to this end, and [`inject`](Self::inject) sends its packets. Records and samples of
    /// the flow count nothing there.
    ///
    /// # Panics
    /// If the flow's number is not below [`flow_count`](Self::flow_count).
    pub fn detach(&mut self, end: End) {
        let (End::Sender(flow) | End::Receiver(flow)) = end;
        let flows = self.flow_count();
        assert!(flow < flows, "flow {flow} is unknown; the simulation has {flows} flows");
        match end {
            End::Sender(_) => {
                self.senders[flow as usize].finish();
                self.set_timer(Timer::Sender(flow), Nanos::NEVER);
            }
            End::Receiver(_) => self.set_timer(Timer::Receiver(flow), Nanos::NEVER),
        }
        self.foreign.push(end);
    }

    /// Sends a packet from a foreign end, at the simulated time.
    ///
    /// # Panics
    /// If the end that the packet comes from was not [detached](Self::detach).
    pub fn inject(&mut self, packet: impl Into<Packet>) {
        let packet = packet.into();
        let origin = End::origin(&packet);
        assert!(self.is_foreign(origin), "{origin:?} is an end of the simulator's own");
        let (now, network, monitor) = (self.now, &mut self.network, &mut self.monitor);
        match packet {
            Packet::Ack(ack) => reply(now, ack, network, monitor),
            Packet::Data(data) => {
                monitor.tap.data(now, PacketEvent::Sent, &data);
                network.send(now, data.route(), packet, monitor);
            }
            Packet::Datagram(datagram) => {
                monitor.tap.datagram(now, PacketEvent::Sent, &datagram);
                network.send(now, datagram.route(), packet, monitor);
            }
        }
    }

    /// Ends the simulation and makes the records of all events up to now, as if nothing more had happened until the end
    /// of the run. Returns the records and the tap.
    ///
    /// # Errors
    /// A mechanism has a fault.
    pub fn finish(self) -> Result<(crate::Outcome, T), Error> {
        Fault::catch(|| self.into_records()).map_err(Error::Fault)
    }

    /// Reports whether the caller plays this end.
    pub(super) fn is_foreign(&self, end: End) -> bool {
        self.foreign.contains(&end)
    }

    /// Reports whether a packet has arrived at a foreign end.
    #[cold]
    #[inline(never)]
    pub(super) fn arrives_abroad(&self, id: PacketId) -> bool {
        self.is_foreign(End::destination(self.network.packets.get(id)))
    }

    /// Takes a packet that has come to a foreign end.
    fn take(&mut self, id: PacketId) -> Packet {
        let packet = *self.network.packets.remove(id);
        match &packet {
            Packet::Data(data) => self.monitor.tap.data(self.now, PacketEvent::Arrived, data),
            Packet::Ack(ack) => self.monitor.tap.ack(self.now, PacketEvent::Arrived, ack),
            Packet::Datagram(datagram) => self.monitor.tap.datagram(self.now, PacketEvent::Arrived, datagram),
        }
        packet
    }
}
