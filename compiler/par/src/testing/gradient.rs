//! `gradient: 1e-6`: the derivative of an entry point forward and backward differ by no more.

use super::report::Problem;
use crate::pipeline::Options;
use crate::program::{Program, compile};
use par_runtime::{Entry, Value};
use regex::Regex;

/// The program with an entry point that says how far the derivatives of another one are apart.
pub(super) fn program(name: &str, text: &str, entry: &Entry, options: &Options) -> Result<Program, Problem> {
    let call = match &entry.params[..] {
        [] => return Err(Problem::failed("an entry point without arguments has no gradient")),
        [_] => format!("{} a0", entry.name),
        params => {
            let names: Vec<String> = (0..params.len()).map(|i| format!("b{i}")).collect();
            let args: Vec<String> = (0..params.len()).map(|i| format!("a{i}")).collect();
            format!("(\\({}) -> {} {}) ({})", names.join(", "), entry.name, names.join(" "), args.join(", "))
        }
    };
    let mut sizes: Vec<&str> = Vec::new();
    let types: Vec<String> = entry.params.iter().map(|(_, ty)| ty.to_string()).collect();
    let named = Regex::new(r"\[[A-Za-z_][A-Za-z0-9_']*\]").map_err(|e| Problem::bug(e.to_string()))?;
    for size in types.iter().flat_map(|ty| named.find_iter(ty)).map(|m| m.as_str()) {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    let typed = types.iter().enumerate().map(|(i, ty)| format!("(a{i}: {ty})"));
    let params: Vec<String> = sizes.into_iter().map(String::from).chain(typed).collect();
    let added = format!("\nentry {} {} : f64 = gradient_error {call}\n", name_of(entry), params.join(" "));
    compile(&(text.to_string() + &added), name, options).map_err(|failure| Problem::from(&failure))
}

/// The name of that entry point.
pub(super) fn name_of(entry: &Entry) -> String {
    format!("gradient_error_of_{}", entry.name)
}

/// Checks that what that entry point gives is small enough.
pub(super) fn check(value: &Value, most: f64) -> Result<(), String> {
    match crate::print_value(value).trim_end_matches("f64").parse::<f64>() {
        Ok(error) if error <= most => Ok(()),
        Ok(error) => {
            Err(format!("the derivatives forward and backward differ by {error:e}, more than {most:e}"))
        }
        Err(_) => {
            Err(format!("the derivatives forward and backward differ by {}", crate::print_value(value)))
        }
    }
}
