// Par in a worker: requests and answers, stopping, starting again.

import workerText from "worker:./worker.js"

// Why a request has no answer: "stopped", "late", "bug", "stack" or "trap".
export class Lost extends Error {
  constructor(kind, message) {
    super(message)
    this.kind = kind
  }
}

const root = new URL(".", document.currentScript?.src ?? document.baseURI)

function script(url) {
  return new Promise((resolve, reject) => {
    const element = document.createElement("script")
    element.src = url
    element.onload = resolve
    element.onerror = () => reject(new Error(`${url} cannot be loaded`))
    document.head.append(element)
  })
}

// A page that is opened as a file must not fetch: there the module comes as a script.
async function fromScript() {
  await script(new URL("par.wasm.js", root))
  const text = atob(globalThis.PAR_WASM)
  delete globalThis.PAR_WASM
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes.buffer
}

// Compiled while it arrives, if the server says what it is; browsers keep that code for the next visit. The playground's page asks for it
// before this script is there.
async function fromServer() {
  const response = await (globalThis.PAR_RESPONSE ?? fetch(new URL("par.wasm", root)))
  delete globalThis.PAR_RESPONSE
  if (!response.ok) throw new Error(`par.wasm cannot be loaded: ${response.status}`)
  const type = response.headers.get("content-type") ?? ""
  return type.startsWith("application/wasm") ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer())
}

let loading
export function load() {
  loading ??= location.protocol === "file:" ? fromScript() : fromServer()
  return loading
}

export class Par {
  #worker = null
  // The worker that has got the module.
  #ready = null
  #waiting = new Map()
  #next = 0

  // The answer to a request. After `limit` milliseconds without one the worker is stopped.
  async ask(request, limit = 0) {
    const worker = await this.#started()
    if (worker !== this.#worker) throw new Lost("stopped", "stopped")
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const timer = limit && setTimeout(() => this.#end("late", `stopped after ${limit / 1000} seconds`), limit)
      this.#waiting.set(id, { resolve, reject, timer })
      worker.postMessage({ id, request })
    })
  }

  // Asks for something whose answer nobody needs: a run that follows begins with it done.
  async prepare(text) {
    const worker = await this.#started()
    worker.postMessage({ id: -1, request: { do: "prepare", text } })
  }

  // Ends all that is going on. The next request starts another worker.
  stop() {
    this.#end("stopped", "stopped")
  }

  get busy() {
    return this.#waiting.size > 0
  }

  // The worker, which has got the module. It starts while that is loaded.
  async #started() {
    const worker = (this.#worker ??= this.#created())
    const code = await load()
    if (worker !== this.#ready && worker === this.#worker) {
      worker.postMessage({ start: code })
      this.#ready = worker
    }
    return worker
  }

  #created() {
    const url = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }))
    const worker = new Worker(url)
    URL.revokeObjectURL(url)
    worker.onmessage = ({ data }) => this.#take(data)
    worker.onerror = event => {
      event.preventDefault()
      this.#end("trap", event.message)
    }
    return worker
  }

  #take({ id, answer, crash }) {
    if (crash) return this.#end(crash.kind, crash.message)
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    clearTimeout(waiting?.timer)
    waiting?.resolve(answer)
  }

  #end(kind, message) {
    this.#worker?.terminate()
    this.#worker = null
    const all = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject, timer } of all) {
      clearTimeout(timer)
      reject(new Lost(kind, message))
    }
  }
}

// Message for a request without an answer.
export function explanation(lost) {
  switch (lost.kind) {
    case "stopped":
      return "Stopped."
    case "late":
      return `Stopped: it took too long. Run (Ctrl-Enter) has no limit of time.`
    case "stack":
      return "This recursion is deeper than the browser's stack allows. Natively, Par has no such limit."
    case "trap":
      return `The browser ended the program, perhaps for lack of memory (${lost.message}).`
    default:
      return `A bug in Par: ${lost.message}`
  }
}
