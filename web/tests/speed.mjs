// The speed of kernels as WebAssembly, of native code in one thread with vectors of 128 bits at most, and of the interpreter of FLAT:
// node speed.mjs MODULE PAR. Figures are the processor's time, so that other work on the machine counts little: medians, the interpreter's of one run.

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
const MEMORY = 768 << 20

const file = path.join(here, "speed.par")
const text = fs.readFileSync(file, "utf8")
const files = {}
for (const [, name] of text.matchAll(/^import "(.*)"/gm)) files[`${name}.par`] = fs.readFileSync(path.join(here, `${name}.par`), "utf8")

// Milliseconds that the processor works for one run of an entry point: the difference between `more` runs and one.
function native(entry, more, ...options) {
  const time = runs => {
    const bench = [command, "bench", file, "--tag", entry, "--processes", "1", "--min-time", "0", "--runs", String(runs), ...options]
    const { stderr } = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1', "bash", ...bench], { encoding: "utf8" })
    const [user, system] = stderr.trim().split(" ").map(Number)
    return (user + system) * 1000
  }
  return (time(more) - time(1)) / (more - 1)
}

const par = await Par.start(fs.readFileSync(module))
par.ask({ do: "files", files })
const { entries, diagnostics } = par.ask({ do: "check", text })
if (!entries.length) throw new Error(JSON.stringify(diagnostics))

function once({ name, params }) {
  const start = process.cpuUsage()
  const answer = par.ask({ do: "run", text, entry: name, inputs: params.map(p => p.input), memory: MEMORY })
  const { user, system } = process.cpuUsage(start)
  const time = (user + system) / 1000
  if (!answer.values || answer.kernels.interpreted) throw new Error(`${name}: ${JSON.stringify(answer.diagnostics ?? answer.kernels)}`)
  return time
}

const median = times => times.sort((a, b) => a - b)[times.length >> 1]
const rows = entries.map(entry => {
  // Browsers replace code that runs often by better code.
  for (let run = 0; run < WARM; run++) once(entry)
  const compiled = []
  const machine = []
  for (let round = 0; round < ROUNDS; round++) {
    compiled.push(once(entry), once(entry), once(entry))
    machine.push(native(entry.name, RUNS, "--threads", "1", "--simd", "baseline"))
  }
  const interpreted = native(entry.name, 2, "--backend", "flat-interp")
  return { entry, times: [interpreted, median(compiled), median(machine)] }
})

const ms = time => (time < 10 ? time.toFixed(1) : String(Math.round(time)))
console.log(`${os.cpus()[0].model}, Node ${process.versions.node}; milliseconds of the processor\n`)
console.log("| program | interpreter | WebAssembly | native | than the interpreter | than native |")
console.log("|---|---|---|---|---|---|")
for (const { entry, times: [slow, time, fast] } of rows) {
  console.log(`| \`${entry.name} ${entry.params[0].input}\` | ${ms(slow)} | ${ms(time)} | ${ms(fast)} | ${ms(slow / time)} times as fast | ${(time / fast).toFixed(1)} times as long |`)
}
