// Par's module: requests in, answers out. In a page a worker has it; Node has it while the site is built and tested.

export class Par {
  #exports
  #panic = ""
  // Functions of kernels' modules by number.
  #kernels = new Map()
  #next = 0

  static async start(code) {
    const par = new Par()
    const panicked = (at, length) => {
      par.#panic = par.#text(at, length)
    }
    const kernel_load = (...where) => par.#load(...where)
    const kernel_run = (...part) => par.#run(...part)
    const kernel_drop = number => par.#kernels.delete(number)
    const made = await WebAssembly.instantiate(code, { par: { panicked, kernel_load, kernel_run, kernel_drop } })
    par.#exports = (made.instance ?? made).exports
    par.#exports.par_start()
    return par
  }

  #text(at, length) {
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, at, length))
  }

  // Loads a kernel's module, which shares Par's memory and calls functions of Par's.
  #load(at, length, places, count) {
    const { memory, __indirect_function_table: table } = this.#exports
    const code = new Uint8Array(memory.buffer, at, length)
    const imports = { memory }
    new Uint32Array(memory.buffer, places, count).forEach((place, i) => (imports[i] = table.get(place)))
    try {
      const { part } = new WebAssembly.Instance(new WebAssembly.Module(code), { par: imports }).exports
      this.#kernels.set(this.#next, part)
      return this.#next++
    } catch (error) {
      console.warn(error)
      return -1
    }
  }

  // Runs a part of a kernel. A check that fails ends in a trap; so does recursion that is too deep.
  #run(number, frame, row, last, from, to) {
    try {
      this.#kernels.get(number)(frame, row, last, from, to)
      return 0
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return 1
      // Firefox has an error of its own for the stack.
      return error instanceof RangeError || error.name === "InternalError" ? 2 : 3
    }
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
