// The speed of kernels as WebAssembly, of native code in one thread with vectors of 128 bits at most, and of the interpreter of FLAT:
// node speed.mjs MODULE PAR. Each figure is the shortest of several runs, made in turns.

import { execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Par } from "../page/src/core.js"

const here = path.dirname(fileURLToPath(import.meta.url))
const [module, command] = process.argv.slice(2)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const RUNS = 3
const MEMORY = 768 << 20

const file = path.join(here, "speed.par")
const text = fs.readFileSync(file, "utf8")
const files = {}
for (const [, name] of text.matchAll(/^import "(.*)"/gm)) files[`${name}.par`] = fs.readFileSync(path.join(here, `${name}.par`), "utf8")

// Milliseconds of each entry point that the command measures.
function native(...options) {
  const all = JSON.parse(execFileSync(command, ["bench", file, "--json", "--processes", "1", "--min-time", "0", ...options], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))
  return Object.fromEntries(all.results.map(({ entry, nanoseconds }) => [entry, Math.min(...nanoseconds) / 1e6]))
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

const least = (known, more) => Object.fromEntries(Object.entries(more).map(([name, time]) => [name, Math.min(time, known[name] ?? Infinity)]))
let compiled = {}
let machine = {}
for (const entry of entries) once(entry)
for (let round = 0; round < ROUNDS; round++) {
  compiled = least(compiled, Object.fromEntries(entries.map(entry => [entry.name, Math.min(...Array.from({ length: RUNS }, () => once(entry)))])))
  machine = least(machine, native("--threads", "1", "--simd", "baseline", "--runs", String(RUNS)))
}
const interpreted = native("--backend", "flat-interp", "--runs", "1")

const ms = time => (time < 10 ? time.toFixed(1) : String(Math.round(time)))
console.log(`${os.cpus()[0].model}, Node ${process.versions.node}; milliseconds\n`)
console.log("| program | interpreter | WebAssembly | native | to the interpreter | to native |")
console.log("|---|---|---|---|---|---|")
for (const { name, params } of entries) {
  const [slow, time, fast] = [interpreted[name], compiled[name], machine[name]]
  console.log(`| ${name} ${params[0].input} | ${ms(slow)} | ${ms(time)} | ${ms(fast)} | ${ms(slow / time)} times as fast | ${(time / fast).toFixed(1)} times as long |`)
}
