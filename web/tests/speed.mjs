// The speed of kernels as WebAssembly, of native code in one thread with vectors of 128 bits at most, and of the interpreter of FLAT:
// node speed.mjs MODULE PAR. Figures are those of the shortest of several runs, made in turns; the interpreter runs once, or
// with INTERPRETER=0 not at all.

import { spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Par } from "../page/src/core.js"

const here = path.dirname(fileURLToPath(import.meta.url))
const [module, command] = process.argv.slice(2)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const RUNS = 11
const WARM = 5
const INTERPRETER = process.env.INTERPRETER !== "0"
const MEMORY = 768 << 20

const file = path.join(here, "speed.par")
const text = fs.readFileSync(file, "utf8")
const files = {}
for (const [, name] of text.matchAll(/^import "(.*)"/gm)) files[`${name}.par`] = fs.readFileSync(path.join(here, `${name}.par`), "utf8")

// Milliseconds of the shortest run of an entry point that the command measures.
function native(entry, ...options) {
  const bench = ["bench", file, "--tag", entry, "--processes", "1", "--min-time", "0", "--json", ...options]
  return Math.min(...JSON.parse(spawnSync(command, bench, { encoding: "utf8" }).stdout).results[0].nanoseconds) / 1e6
}

const par = await Par.start(fs.readFileSync(module))
par.ask({ do: "files", files })
const { entries, diagnostics } = par.ask({ do: "check", text })
if (!entries.length) throw new Error(JSON.stringify(diagnostics))

function once({ name, params }) {
  const start = performance.now()
  const answer = par.ask({ do: "run", text, entry: name, inputs: params.map(p => p.input), memory: MEMORY })
  const time = performance.now() - start
  if (!answer.values || answer.kernels.interpreted) throw new Error(`${name}: ${JSON.stringify(answer.diagnostics ?? answer.kernels)}`)
  return time
}

const rows = entries.map(entry => {
  // Browsers replace code that runs often by better code.
  for (let run = 0; run < WARM; run++) once(entry)
  let [compiled, machine] = [Infinity, Infinity]
  for (let round = 0; round < ROUNDS; round++) {
    compiled = Math.min(compiled, ...Array.from({ length: RUNS }, () => once(entry)))
    machine = Math.min(machine, native(entry.name, "--threads", "1", "--simd", "baseline", "--runs", String(RUNS)))
  }
  const interpreted = INTERPRETER ? native(entry.name, "--backend", "flat-interp", "--runs", "1") : NaN
  return { entry, times: [interpreted, compiled, machine] }
})

const ms = time => (time < 10 ? time.toFixed(1) : String(Math.round(time)))
console.log(`${os.cpus()[0].model}, Node ${process.versions.node}; milliseconds\n`)
console.log("| program | interpreter | WebAssembly | native | than the interpreter | than native |")
console.log("|---|---|---|---|---|---|")
for (const { entry, times: [slow, time, fast] } of rows) {
  console.log(`| \`${entry.name} ${entry.params[0].input}\` | ${ms(slow)} | ${ms(time)} | ${ms(fast)} | ${ms(slow / time)} times as fast | ${(time / fast).toFixed(1)} times as long |`)
}
