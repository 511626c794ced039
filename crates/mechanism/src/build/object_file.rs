//! Reader of the ELF file of a compiled mechanism: its symbols, and the positions of their bytes.

use object::read::elf::ElfFile64;
use object::{Object as _, ObjectKind, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// Number of arguments of `cong_control` since Linux 6.10: socket, ack, flag, rate sample.
pub(crate) const CONG_CONTROL_ARGUMENTS: u8 = 4;

/// One symbol of the table.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    /// Address before loading, or the position in the file in an object that is not linked yet.
    pub(crate) address: u64,
    /// Size of the symbol, bytes.
    pub(crate) size: u64,
    /// The section that holds it.
    pub(crate) section: String,
    /// Position of the bytes in the file, unless they are zeroes that the file leaves out.
    pub(crate) file_range: Option<Range<usize>>,
    is_code: bool,
}

/// A program as `BPF_PROG` describes it.
#[derive(Debug)]
struct Program {
    arguments: u8,
    place: String,
}

/// Parameters without a default that suits every path: the user must set one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) names: Vec<String>,
    why: String,
}

impl Needs {
    /// Reads `name,name|why`, as the macro `NEEDS_PARAM` writes it.
    fn read(text: &str) -> Option<Needs> {
        let (names, why) = text.split_once('|')?;
        Some(Needs { names: names.split(',').map(str::to_string).collect(), why: why.to_string() })
    }
}

impl fmt::Display for Needs {
    /// Completes a sentence that begins with the mechanism's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "needs {}: {}", self.names.join(" or "), self.why)
    }
}

/// The symbols and parameter descriptions of one ELF file.
#[derive(Debug)]
pub(crate) struct Object {
    symbols: HashMap<String, Symbol>,
    /// The strings that the macro `PARAM` writes.
    pub(crate) descriptions: Vec<String>,
    /// The reason for which no kernel can take the file, from the macro `SIMULATED_ONLY`.
    pub(crate) simulated_only: Option<String>,
    /// The parameters of which one must be set, and the reason, from the macro `NEEDS_PARAM`.
    pub(crate) needs: Option<Needs>,
    /// Names that the file uses and does not define.
    pub(crate) undefined: Vec<String>,
    /// The programs declared by `BPF_PROG`, by their addresses.
    programs: HashMap<u64, Program>,
    /// Addresses that the loader fills with pointers.
    pointers: HashSet<u64>,
}

impl Object {
    /// Reads the tables of `image`.
    pub(crate) fn parse(image: &[u8]) -> Result<Object, object::Error> {
        let elf = ElfFile64::<object::Endianness>::parse(image)?;
        let linked = elf.kind() != ObjectKind::Relocatable;
        let mut symbols = HashMap::new();
        let mut undefined = Vec::new();
        for symbol in elf.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.is_undefined() && !symbol.is_weak() && !name.is_empty() {
                undefined.push(name.to_string());
            }
            if !matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Text) || symbol.size() == 0 {
                continue;
            }
            let Some(section) = symbol.section_index().and_then(|index| elf.section_by_index(index).ok()) else {
                continue;
            };
            let start =
                section.file_range().map(|(offset, _)| (offset + symbol.address() - section.address()) as usize);
            let entry = Symbol {
                address: if linked { symbol.address() } else { start.unwrap_or_default() as u64 },
                size: symbol.size(),
                section: section.name().unwrap_or_default().to_string(),
                file_range: start.map(|start| start..start + symbol.size() as usize),
                is_code: symbol.kind() == SymbolKind::Text,
            };
            symbols.insert(name.to_string(), entry);
        }
        let texts = |section: &str| -> Vec<String> {
            let section = elf.section_by_name(section).and_then(|section| section.data().ok()).unwrap_or_default();
            let texts = section.split(|&b| b == 0).filter(|text| !text.is_empty());
            texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        };
        let descriptions = texts(".unbloat.params");
        let simulated_only = texts(".unbloat.simulated").pop();
        let needs = texts(".unbloat.needs").pop().and_then(|text| Needs::read(&text));
        let programs = programs(&symbols, image);
        let pointers = if linked {
            elf.dynamic_relocations().into_iter().flatten().map(|(address, _)| address).collect()
        } else {
            relocated_places(&elf)
        };
        Ok(Object { symbols, descriptions, simulated_only, needs, undefined, programs, pointers })
    }

    /// The data symbol or function of this name.
    pub(crate) fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.get(name)
    }

    /// The address of a symbol that the file must have.
    ///
    /// # Panics
    /// If the file does not have it.
    pub(crate) fn address_of(&self, name: &str) -> u64 {
        self.symbols[name].address
    }

    /// The data symbols of one section, in the order of their addresses.
    pub(crate) fn data_in(&self, section: impl Fn(&str) -> bool) -> Vec<(&str, &Symbol)> {
        let mut found: Vec<_> = self
            .symbols
            .iter()
            .filter(|(_, symbol)| !symbol.is_code && section(&symbol.section))
            .map(|(name, symbol)| (name.as_str(), symbol))
            .collect();
        found.sort_by_key(|(name, symbol)| (symbol.address, name.to_string()));
        found
    }

    /// Reports whether the pointer at this address is set.
    pub(crate) fn is_set(&self, address: u64) -> bool {
        self.pointers.contains(&address)
    }

    /// The name of the program at this address.
    pub(crate) fn program_at(&self, address: u64) -> Option<&str> {
        let found = self.symbols.iter().find(|(_, symbol)| symbol.is_code && symbol.address == address);
        found.map(|(name, _)| name.as_str())
    }

    /// The number of arguments that the program at this address takes; the present number for one that was not declared
    /// by `BPF_PROG`.
    pub(crate) fn arguments(&self, address: usize) -> u8 {
        self.programs.get(&(address as u64)).map_or(CONG_CONTROL_ARGUMENTS, |program| program.arguments)
    }

    /// The line that declares the program at this address, as `file:line`.
    pub(crate) fn place_of(&self, address: u64) -> Option<String> {
        self.programs.get(&address).map(|program| program.place.clone())
    }

    /// The line that declares the program of this name.
    pub(crate) fn place_of_program(&self, name: &str) -> Option<String> {
        self.place_of(self.symbol(name)?.address)
    }

    /// The range of addresses of the object's code.
    pub(crate) fn code(&self) -> Range<u64> {
        let code = || self.symbols.values().filter(|symbol| symbol.is_code);
        let start = code().map(|symbol| symbol.address).min().unwrap_or_default();
        start..code().map(|symbol| symbol.address + symbol.size).max().unwrap_or_default()
    }
}

/// The positions in the file of an unlinked object that the linker will fill in.
fn relocated_places(elf: &ElfFile64) -> HashSet<u64> {
    let sections = elf.sections().filter_map(|section| Some((section.file_range()?.0, section)));
    sections.flat_map(|(start, section)| section.relocations().map(move |(offset, _)| start + offset)).collect()
}

/// Reads the record of each program that `BPF_PROG` writes to `unbloat_program_NAME`: the number of its arguments, line
/// and file.
fn programs(symbols: &HashMap<String, Symbol>, image: &[u8]) -> HashMap<u64, Program> {
    let program = |(name, symbol): (&String, &Symbol)| {
        let code = symbols.get(name.strip_prefix("unbloat_program_")?)?;
        let bytes = image.get(symbol.file_range.clone()?)?;
        let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let file = bytes.get(8..)?.split(|&byte| byte == 0).next()?;
        let place = format!("{}:{}", String::from_utf8_lossy(file), number(4)?);
        Some((code.address, Program { arguments: number(0)? as u8, place }))
    };
    symbols.iter().filter_map(program).collect()
}
