//! The choice among instruction sets, for each part that has a path for several.

use std::fmt::Display;

use crate::error::Fault;

/// The last of `all` that this machine can run; the first one, which every machine can, if it is the only one.
pub fn best<I: Copy>(all: &[I], is_available: fn(I) -> bool) -> I {
    all.iter().rev().copied().find(|&isa| is_available(isa)).unwrap_or(all[0])
}

/// The one of that name; `auto` is the best available. Names that this machine cannot run are refused.
pub fn named<I: Copy + Display>(name: &str, all: &[I], is_available: fn(I) -> bool) -> Result<I, Fault> {
    if name == "auto" {
        return Ok(best(all, is_available));
    }
    let isa = all.iter().copied().find(|isa| isa.to_string() == name);
    let isa = isa.ok_or_else(|| Fault::new(format!("isa must be {}, not {name:?}", choices(all))))?;
    if is_available(isa) { Ok(isa) } else { Err(Fault::new(format!("this machine cannot run isa {name}"))) }
}

/// `auto, scalar or avx512`.
fn choices<I: Display>(all: &[I]) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    let (last, others) = names.split_last().expect("there is always one");
    format!(
        "{} or {last}",
        ["auto"].into_iter().chain(others.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
    )
}
