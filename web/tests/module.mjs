// The module under Node: node module.mjs MODULE ANSWERS. All tests in golden programs and examples that need no files go as they say; and where this
// machine's own Par has answered (ANSWERS, of `examples/answers.rs`), the module answers the same, to the last bit.

import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads"
import { Par } from "../page/src/core.js"

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..")
// Programs recurse on the stack of the thread.
const STACK_MB = 200
const THREADS = 2
// Bytes of a program's heap in JavaScript's terms do not matter; a test that takes longer than this is a failure.
const PATIENCE = 120_000

export function programs() {
  const all = []
  for (const folder of ["tests/golden", "examples"]) {
    const names = fs.readdirSync(path.join(root, folder), { recursive: true })
    all.push(...names.filter(name => name.endsWith(".par")).map(name => path.posix.join(folder, name.replaceAll(path.sep, "/"))))
  }
  return all.sort()
}

const needsFiles = text => /^--.*(?:input|output)\s*@/m.test(text) || /^\s*import\s+"(?!lib\/)/m.test(text)

if (isMainThread) await main()
else serve()

// One thread: asks and tells.
function serve() {
  let par
  parentPort.on("message", async request => {
    par ??= await Par.start(workerData.code)
    try {
      parentPort.postMessage({ answer: par.ask(request) })
    } catch (error) {
      parentPort.postMessage({ crash: par.crash(error) })
      par = undefined
    }
  })
}

function started(code) {
  let waiting
  let worker
  const start = () => {
    worker = new Worker(fileURLToPath(import.meta.url), { workerData: { code }, resourceLimits: { stackSizeMb: STACK_MB } })
    worker.on("message", message => waiting?.(message))
    worker.on("error", error => waiting?.({ crash: { kind: "thread", message: String(error) } }))
  }
  start()
  return {
    ask: request =>
      new Promise(resolve => {
        const timer = setTimeout(() => {
          worker.terminate()
          start()
          waiting({ crash: { kind: "late", message: `no answer in ${PATIENCE} ms` } })
        }, PATIENCE)
        waiting = message => {
          clearTimeout(timer)
          resolve(message)
        }
        worker.postMessage(request)
      }),
    end: () => worker.terminate(),
  }
}

async function main() {
  const [module, answers] = process.argv.slice(2)
  const code = await WebAssembly.compile(fs.readFileSync(module))
  const work = programs().map(file => ({ file, text: fs.readFileSync(path.join(root, file), "utf8") }))
  const all = work.filter(({ text }) => !needsFiles(text)).map(({ file, text }) => ({ file, request: { do: "test", text, name: file } }))
  const known = answers && fs.existsSync(answers) ? fs.readFileSync(answers, "utf8").split("\n").filter(Boolean).map(line => JSON.parse(line)) : []
  all.push(...known)
  let next = 0
  const count = { passed: 0, failed: 0, skipped: 0 }
  const kernels = { runs: 0, interpreted: 0 }
  const failures = []
  const note = (file, problem) => {
    // A WebAssembly module has less stack than programs may have natively.
    if (problem && /too deep/.test(problem)) return count.skipped++
    count[problem ? "failed" : "passed"]++
    if (problem) failures.push(`${file}: ${problem}`)
  }
  const thread = async () => {
    const worker = started(code)
    while (next < all.length) {
      const { file, request, answer } = all[next++]
      const said = await worker.ask(request)
      if (said.crash) note(`${file} ${request.entry ?? ""}`, `${said.crash.kind}: ${said.crash.message}`)
      else if (answer) {
        const { runs = 0, interpreted = 0, reasons = [] } = said.answer.kernels ?? {}
        kernels.runs += runs
        kernels.interpreted += interpreted
        for (const reason of reasons) note(file, `a kernel was interpreted: ${reason}`)
        note(`${file} ${request.entry}`, differs(answer, { ...said.answer, kernels: answer.kernels }))
      }
      else for (const test of said.answer.tests) note(test.place, test.problem && `${test.name}: ${test.problem.kind}: ${test.problem.message}`)
    }
    await worker.end()
  }
  await Promise.all(Array.from({ length: THREADS }, thread))
  for (const failure of failures) console.log(failure)
  console.log(`module: ${all.length - known.length} programs, ${work.length - all.length + known.length} need files, ${known.length} answers compared`)
  console.log(`${kernels.runs} runs of kernels as WebAssembly, ${kernels.interpreted} interpreted`)
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  process.exit(count.failed ? 1 : 0)
}

function differs(expected, found) {
  const [a, b] = [expected, found].map(answer => JSON.stringify(answer))
  if (a === b) return null
  const at = [...a].findIndex((c, i) => c !== b[i])
  return `expected …${a.slice(Math.max(0, at - 40), at + 80)}, found …${b.slice(Math.max(0, at - 40), at + 80)}`
}
