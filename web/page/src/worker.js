// Runs Par. Messages: {start: module or bytes}, then {id, request}; answers are {id, answer} or {id, crash}, after
// which the worker is of no use any more.

let par
let panic = ""

const imports = {
  par: {
    panicked(at, length) {
      panic = text(at, length)
    },
  },
}

function text(at, length) {
  return new TextDecoder().decode(new Uint8Array(par.memory.buffer, at, length))
}

async function start(code) {
  const made = await WebAssembly.instantiate(code, imports)
  par = (made.instance ?? made).exports
  par.par_start()
}

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request))
  const room = par.par_room(bytes.length)
  new Uint8Array(par.memory.buffer, room, bytes.length).set(bytes)
  const length = par.par_ask()
  return JSON.parse(text(par.par_answer(), length))
}

function crash(error) {
  if (panic) return { kind: "bug", message: panic }
  if (error instanceof RangeError) return { kind: "stack", message: String(error.message) }
  return { kind: "trap", message: String(error.message ?? error) }
}

let ready
self.onmessage = async ({ data }) => {
  if (data.start) {
    ready = start(data.start)
    return
  }
  try {
    await ready
    self.postMessage({ id: data.id, answer: ask(data.request) })
  } catch (error) {
    self.postMessage({ id: data.id, crash: crash(error) })
  }
}
