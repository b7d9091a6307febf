//! Generates the parser from its grammar.

fn main() {
    println!("cargo:rerun-if-changed=src/grammar.lalrpop");
    let generated =
        lalrpop::Configuration::new().use_cargo_dir_conventions().process_file("src/grammar.lalrpop");
    if let Err(error) = generated {
        panic!("the grammar has an error: {error}");
    }
}
