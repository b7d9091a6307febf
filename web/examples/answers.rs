//! Answers of this machine's own Par to what the module is asked in tests: for every program that is named, each of its calls with the inputs in its
//! tests, or those that the playground begins with. A line is `{"file", "request", "answer"}` in JSON; programs with mistakes have none.

use par_web::Playground;
use serde_json::{Value, json};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file)?;
        let mut playground = Playground::default();
        let checked: Value =
            serde_json::from_str(&playground.answer(&json!({ "do": "check", "text": text }).to_string()))?;
        for call in checked["entries"].as_array().into_iter().flatten() {
            let inputs: Vec<&Value> =
                call["params"].as_array().into_iter().flatten().map(|p| &p["input"]).collect();
            let request = json!({
                "do": "run", "text": text, "entry": call["name"], "inputs": inputs, "memory": 256 << 20,
            });
            let answer: Value = serde_json::from_str(&playground.answer(&request.to_string()))?;
            writeln!(
                out,
                "{}",
                json!({ "file": file, "chosen": call["chosen"], "request": request, "answer": answer })
            )?;
        }
    }
    Ok(())
}
