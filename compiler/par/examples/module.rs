//! The typed functions of a program, as a build script would write them: `cargo run -p par --example module FILE.par`.

fn main() -> Result<(), par::Error> {
    for path in std::env::args().skip(1) {
        print!("{}", par::embed::generate(path)?);
    }
    Ok(())
}
