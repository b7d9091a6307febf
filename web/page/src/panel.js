// Entry points, their inputs, and results. Used by the playground and by blocks in documents.

import { element } from "./dom.js"
import { explanation } from "./par.js"
import { draw } from "./values.js"

const MEGABYTE = 1 << 20
const PLOTS = ["auto", "lines", "points", "histogram", "heat", "picture"]

// Kernels that did not become WebAssembly are slow, so they are no secret.
function interpreted(kernels) {
  return kernels?.interpreted ? `, ${kernels.interpreted} of ${kernels.interpreted + kernels.runs} kernels interpreted` : ""
}

// `par` runs programs; `explain` is called with codes, `goTo` with places in the text.
export class Panel {
  #par
  #explain
  #goTo
  #text = ""
  #entries = []
  #typed = new Map()
  #run = 0

  constructor(par, { explain, goTo } = {}) {
    this.#par = par
    this.#explain = explain
    this.#goTo = goTo
    this.choice = element("select", { "aria-label": "Entry point", onchange: () => (this.#fields(), this.run(true)) })
    this.inputs = element("div", { class: "inputs" })
    this.status = element("div", { class: "status", role: "status", "aria-live": "polite" })
    this.results = element("div", { class: "results" })
    this.stopButton = element("button", { type: "button", class: "stop", hidden: true, onclick: () => this.stop() }, "Stop")
    this.memory = 256 * MEGABYTE
    // Milliseconds that a program may take which nobody has asked for.
    this.patience = 8000
    this.changed = () => {}
    // Why the last request had no answer.
    this.lost = null
  }

  get entry() {
    return this.#entries.find(e => e.name === this.choice.value)
  }

  // Entry point and inputs, for a link.
  get given() {
    return this.entry && { entry: this.entry.name, inputs: this.#values() }
  }

  // Takes over a program that was checked. Inputs that somebody typed stay as long as their types do.
  take(text, entries, given) {
    this.#text = text
    const before = given?.entry ?? this.choice.value
    this.#entries = entries
    this.choice.replaceChildren(...entries.map(e => element("option", { value: e.name }, e.name)))
    this.choice.hidden = entries.length < 2
    const chosen = entries.find(e => e.name === before) ?? entries.find(e => e.chosen) ?? entries[0]
    if (!chosen) {
      this.inputs.replaceChildren()
      return
    }
    this.choice.value = chosen.name
    if (given?.inputs?.length === chosen.params.length) {
      chosen.params.forEach((p, i) => this.#typed.set(this.#key(chosen, p), given.inputs[i]))
    }
    this.#fields()
  }

  forget() {
    this.#typed.clear()
    this.choice.replaceChildren()
  }

  #key(entry, param) {
    return `${entry.name} ${param.name} ${param.type}`
  }

  #values() {
    return [...this.inputs.querySelectorAll("textarea")].map(field => field.value)
  }

  #fields() {
    const entry = this.entry
    const keys = entry.params.map(p => this.#key(entry, p))
    const now = [...this.inputs.children].map(field => field.dataset.key)
    if (now.length === keys.length && now.every((key, i) => key === keys[i] && this.#typed.has(key))) return
    let timer
    const fields = entry.params.map((param, i) => {
      const value = this.#typed.get(keys[i]) ?? param.input
      const field = element("textarea", {
        rows: Math.min(6, value.split("\n").length),
        spellcheck: "false",
        autocapitalize: "off",
        oninput: () => {
          this.#typed.set(keys[i], field.value)
          clearTimeout(timer)
          timer = setTimeout(() => this.run(true), 400)
        },
        onkeydown: event => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run(false)
        },
      })
      field.value = value
      return element("label", { "data-key": keys[i] }, element("span", {}, element("b", {}, param.name), ` : ${param.type}`), field)
    })
    this.inputs.replaceChildren(...fields)
  }

  stop() {
    this.#par.stop()
  }

  // Calls the entry point. Nobody has asked for what is `automatic`: that may not take long.
  async run(automatic) {
    const entry = this.entry
    this.changed()
    if (!entry) return
    const number = ++this.#run
    if (this.#par.busy) this.#par.stop()
    const request = { do: "run", text: this.#text, entry: entry.name, inputs: this.#values(), memory: this.memory }
    this.status.textContent = "running …"
    this.stopButton.hidden = false
    const start = performance.now()
    try {
      const answer = await this.#par.ask(request, automatic ? this.patience : 0)
      if (number !== this.#run) return
      this.#show(answer, performance.now() - start)
    } catch (lost) {
      if (number !== this.#run) return
      this.lost = lost
      this.status.textContent = ""
      this.results.replaceChildren(element("div", { class: "message error" }, explanation(lost)))
    }
    this.stopButton.hidden = true
  }

  #show(answer, time) {
    if (answer.error) answer = { diagnostics: [{ severity: "error", message: answer.error, labels: [], notes: [] }] }
    this.status.textContent = answer.values ? `${time < 10 ? time.toFixed(1) : Math.round(time)} ms${interpreted(answer.kernels)}` : ""
    const fields = [...this.inputs.querySelectorAll("textarea")]
    fields.forEach((field, i) => field.setAttribute("aria-invalid", String(answer.input === i)))
    const values = (answer.values ?? []).map((value, i, all) => this.#value(value, i, all.length))
    const messages = (answer.diagnostics ?? []).map(d => this.message(d))
    const traces = answer.traces ? element("pre", { class: "traces" }, answer.traces) : null
    this.results.replaceChildren(...[traces, ...messages, ...values].filter(Boolean))
  }

  // A diagnostic as a person reads it.
  message(d) {
    const code = d.code && element("button", { type: "button", class: "code", onclick: () => this.#explain?.(d.code) }, d.code)
    const label = d.labels?.[0]?.text
    const notes = [label, ...(d.notes ?? [])].filter(Boolean).map(note => element("div", { class: "note" }, note))
    const place = d.at && this.#goTo && element("button", { type: "button", class: "place", onclick: () => this.#goTo(d.at) }, this.#line(d.at[0]))
    return element("div", { class: `message ${d.severity}` }, element("div", {}, code || null, code ? " " : null, d.message, " ", place || null), ...notes)
  }

  #line(at) {
    return `line ${this.#text.slice(0, at).split("\n").length}`
  }

  #value(value, number, count) {
    const body = element("div", { class: "value-body" })
    const show = view => {
      body.replaceChildren(view)
      for (const button of bar.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === bar.pressed))
    }
    const tab = (name, view) => {
      const button = element("button", {
        type: "button",
        "aria-pressed": "false",
        onclick: async () => {
          bar.pressed = button
          show(await view())
        },
      })
      button.append(name)
      return button
    }
    const kinds = element("select", { "aria-label": "Kind of plot" }, ...PLOTS.map(kind => element("option", {}, kind)))
    const plot = async () => {
      kinds.onchange = async () => show(await plot())
      return element("div", {}, kinds, await this.#plot(number, kinds.value))
    }
    const isArray = value.type.startsWith("[") || value.type.startsWith("{") || value.type.startsWith("(")
    const bar = element(
      "div",
      { class: "value-bar" },
      tab("Value", () => draw(value.shown)),
      isArray ? tab("Plot", plot) : null,
      tab("Text", () => element("pre", { class: "text" }, value.text)),
      element("code", { class: "type" }, count > 1 ? `.${number} : ${value.type}` : value.type),
    )
    bar.pressed = bar.firstChild
    show(draw(value.shown))
    return element("section", { class: "value" }, bar, body)
  }

  async #plot(value, kind) {
    try {
      const answer = await this.#par.ask({ do: "plot", value, kind }, this.patience)
      if (answer.error) return element("div", { class: "message info" }, answer.error)
      const source = answer.svg ? `data:image/svg+xml,${encodeURIComponent(answer.svg)}` : `data:image/png;base64,${answer.png}`
      return element("img", { class: answer.png ? "picture" : "plot", src: source, alt: `The ${kind === "auto" ? "plot" : kind} of the value` })
    } catch (lost) {
      return element("div", { class: "message error" }, explanation(lost))
    }
  }
}
