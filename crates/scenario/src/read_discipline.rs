//! The queue disciplines of this program itself, from their sections.

use crate::bdp::Product;
use crate::model::Limit;
use crate::quantity::Share;
use crate::queue::{
    Atm, Cake, Codel, Diffserv, Discipline, FlowMode, FqCodel, FqPie, PfifoFast, Pie, Prio, Red, RedBounds,
};
use crate::section::Section;
use crate::units::Bytes;

/// The discipline that a section describes; none if it is of another kind.
pub(crate) fn discipline(section: &Section, product: &Product) -> Option<Discipline> {
    Some(match section.shape {
        "red" => Discipline::Red(red(section, product)),
        "codel" => Discipline::Codel(codel(section, product)),
        "fq_codel" => Discipline::FqCodel(fq_codel(section, product)),
        "pie" => Discipline::Pie(pie(section, product)),
        "fq_pie" => Discipline::FqPie(fq_pie(section, product)),
        "prio" => Discipline::Prio(Prio { bands: number(section, "bands"), limit: packets(section, product) }),
        "pfifo_fast" => Discipline::PfifoFast(PfifoFast { limit: packets(section, product) }),
        "cake" => Discipline::Cake(cake(section)),
        _ => return None,
    })
}

/// A whole number, which the schema's range keeps to 32 bits.
fn number(section: &Section, name: &str) -> u32 {
    section.need::<u64>(name) as u32
}

/// A limit that the schema's range keeps to packets.
fn packets(section: &Section, product: &Product) -> u32 {
    match section.read_limit("limit", product) {
        Some(Limit::Packets(packets)) => packets as u32,
        _ => 0,
    }
}

fn red(section: &Section, product: &Product) -> Red {
    let limit = match section.read_limit("limit", product) {
        Some(Limit::Bytes(limit)) => limit,
        _ => Bytes(0),
    };
    let avpkt = section.need("avpkt");
    let bounds =
        RedBounds { limit, min: section.read("min"), max: section.read("max"), avpkt, burst: section.read("burst") };
    let (min, max, burst) = bounds.fill();
    Red {
        limit,
        min,
        max,
        probability: section.need::<Share>("probability").0,
        avpkt,
        burst,
        ecn: section.need("ecn"),
        harddrop: section.need("harddrop"),
        adaptive: section.need("adaptive"),
        gentle: section.need("gentle"),
    }
}

fn codel(section: &Section, product: &Product) -> Codel {
    Codel {
        limit: packets(section, product),
        target: section.need("target"),
        interval: section.need("interval"),
        ce_threshold: section.read("ce_threshold"),
        ecn: section.need("ecn"),
    }
}

fn fq_codel(section: &Section, product: &Product) -> FqCodel {
    FqCodel {
        limit: packets(section, product),
        flows: number(section, "flows"),
        quantum: section.read("quantum"),
        target: section.need("target"),
        interval: section.need("interval"),
        ce_threshold: section.read("ce_threshold"),
        ecn: section.need("ecn"),
        memory_limit: section.need("memory_limit"),
        drop_batch: number(section, "drop_batch"),
    }
}

fn pie(section: &Section, product: &Product) -> Pie {
    Pie {
        limit: packets(section, product),
        target: section.need("target"),
        tupdate: section.need("tupdate"),
        alpha: number(section, "alpha"),
        beta: number(section, "beta"),
        ecn: section.need("ecn"),
        bytemode: section.need("bytemode"),
        dq_rate_estimator: section.need("dq_rate_estimator"),
    }
}

fn fq_pie(section: &Section, product: &Product) -> FqPie {
    let Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator } = pie(section, product);
    FqPie {
        limit,
        flows: number(section, "flows"),
        quantum: section.read("quantum"),
        target,
        tupdate,
        alpha,
        beta,
        ecn,
        ecn_prob: number(section, "ecn_prob"),
        bytemode,
        dq_rate_estimator,
    }
}

fn cake(section: &Section) -> Cake {
    let chosen = |name| section.need::<String>(name);
    let default = Cake::default();
    Cake {
        bandwidth: section.read("bandwidth"),
        // The schema refuses other names, and then the run is refused anyway.
        diffserv: Diffserv::named(&chosen("diffserv")).unwrap_or(default.diffserv),
        flowmode: FlowMode::named(&chosen("flowmode")).unwrap_or(default.flowmode),
        rtt: section.need("rtt"),
        overhead: number(section, "overhead"),
        mpu: number(section, "mpu"),
        atm: Atm::named(&chosen("atm")).unwrap_or(default.atm),
        ingress: section.need("ingress"),
        memlimit: section.read("memlimit"),
    }
}
