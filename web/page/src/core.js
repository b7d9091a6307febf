// Par's module: requests in, answers out. In a page a worker has it; Node has it while the site is built and tested.

export class Par {
  #exports
  #panic = ""

  static async start(code) {
    const par = new Par()
    const panicked = (at, length) => {
      par.#panic = par.#text(at, length)
    }
    const made = await WebAssembly.instantiate(code, { par: { panicked } })
    par.#exports = (made.instance ?? made).exports
    par.#exports.par_start()
    return par
  }

  #text(at, length) {
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, at, length))
  }

  ask(request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request))
    const room = this.#exports.par_room(bytes.length)
    new Uint8Array(this.#exports.memory.buffer, room, bytes.length).set(bytes)
    const length = this.#exports.par_ask()
    return JSON.parse(this.#text(this.#exports.par_answer(), length))
  }

  // Why a request had no answer: nothing may be asked any more.
  crash(error) {
    if (this.#panic) return { kind: "bug", message: this.#panic }
    if (error instanceof RangeError) return { kind: "stack", message: String(error.message) }
    return { kind: "trap", message: String(error.message ?? error) }
  }
}
