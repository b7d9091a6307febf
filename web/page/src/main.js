// The playground.

import lessons from "data:lessons"
import { prepare } from "./blocks.js"
import { element } from "./dom.js"
import { editor as makeEditor } from "./editor.js"
import { coloured } from "./language.js"
import { pack, unpack } from "./link.js"
import { Panel } from "./panel.js"
import { Par, explanation, load } from "./par.js"

// Milliseconds after the last key before the program is looked at, and until that is given up.
const PAUSE = 300
const PATIENCE = 20000

const at = id => document.getElementById(id)
const analysis = new Par()
const runner = new Par()
load().catch(() => {})
const panel = new Panel(runner, { explain: explainCode, goTo: place => editor.goTo(place) })
let editor
// Result of the last check, and its text.
let checked = { text: null, wrong: true }
let timer

at("entry").append(panel.choice)
at("inputs").append(panel.inputs)
at("status").append(panel.status)
at("stop").append(panel.stopButton)
at("results").append(panel.results)
panel.changed = () => refresh()

const quietly = (request, limit = PATIENCE) => analysis.ask(request, limit)

function changed() {
  clearTimeout(timer)
  timer = setTimeout(() => check(), PAUSE)
}

// Shows the type of what the cursor is at, or just behind: there may be no pointer to hold over it.
let moving
function moved(place) {
  clearTimeout(moving)
  moving = setTimeout(async () => {
    const text = editor.text
    const isPart = i => /[\p{L}\p{N}_']/u.test(text[i] ?? "")
    const answer = await quietly({ do: "hover", text, at: isPart(place) || !isPart(place - 1) ? place : place - 1 }).catch(() => null)
    if (text === editor.text) at("under").replaceChildren(...(answer?.head ? [coloured(answer.head)] : []))
  }, PAUSE)
}

// Looks at the program, and runs it if nothing is wrong.
async function check(given) {
  const text = editor.text
  let answer
  try {
    answer = await quietly({ do: "check", text })
  } catch (lost) {
    panel.lost = lost
    if (lost.kind === "stopped") return
    answer = { diagnostics: [{ at: null, severity: "error", code: "", message: explanation(lost), labels: [], notes: [] }], entries: [], wrong: true }
  }
  if (text !== editor.text) return
  checked = { text, wrong: answer.wrong }
  editor.show(text, answer.diagnostics)
  panel.take(text, answer.entries, given)
  const messages = answer.diagnostics.map(d => panel.message(d))
  at("messages").replaceChildren(...messages)
  if (answer.wrong || !answer.entries.length) {
    panel.stop()
    const why = answer.wrong ? "There is a mistake in the program." : "There is no entry point: begin a definition with `entry`."
    panel.status.textContent = ""
    panel.results.replaceChildren(element("p", { class: "dim" }, why))
    refresh()
    return
  }
  if (at("live").checked) await panel.run(true)
}

async function run() {
  clearTimeout(timer)
  if (checked.text !== editor.text) await check(panel.given)
  if (!checked.wrong) await panel.run(false)
}

// Tabs: what is behind the visible one is made when it is looked at.
const tabs = [...document.querySelectorAll('[role="tab"]')]
let shown = {}

function choose(tab, focus) {
  for (const other of tabs) {
    const isIt = other === tab
    other.setAttribute("aria-selected", String(isIt))
    other.tabIndex = isIt ? 0 : -1
    at(other.getAttribute("aria-controls")).hidden = !isIt
  }
  if (focus) tab.focus()
  refresh()
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener("click", () => choose(tab))
  tab.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step) choose(tabs[(i + step + tabs.length) % tabs.length], true)
  })
}

const makers = {
  explain: async () => {
    const answer = await quietly({ do: "explain", text: checked.text, entry: panel.entry.name })
    if (!answer.html) return messages(answer)
    const frame = element("iframe", { title: "What became of the program", sandbox: "allow-same-origin" })
    frame.srcdoc = answer.html
    // Links inside the page stay there.
    frame.addEventListener("load", () => {
      frame.contentDocument?.addEventListener("click", event => {
        const id = event.target.closest?.("a")?.getAttribute("href")
        if (!id?.startsWith("#")) return
        event.preventDefault()
        frame.contentDocument.getElementById(id.slice(1))?.scrollIntoView()
      })
    })
    return frame
  },
  flat: async () => {
    const answer = await quietly({ do: "dump", text: checked.text, stage: at("stage").value })
    return answer.text ? element("pre", { class: "text" }, answer.text) : messages(answer)
  },
  tests: async () => {
    const answer = await quietly({ do: "test", text: checked.text, name: "program.par" })
    const lines = answer.tests.map(test => {
      const problem = test.problem && element("pre", {}, test.problem.message)
      return element("li", { class: test.problem ? "failed" : "passed" }, `${test.problem ? "✗" : "✓"} ${test.name}, line ${test.place.split(":")[1] ?? 1}`, problem)
    })
    const failed = answer.tests.filter(test => test.problem).length
    return element("div", {}, element("p", {}, `${answer.tests.length - failed} passed, ${failed} failed`), element("ul", { class: "tests" }, ...lines))
  },
}

function messages(answer) {
  const all = answer.diagnostics ?? [{ severity: "error", message: answer.error, labels: [], notes: [] }]
  return element("div", {}, ...all.map(d => panel.message(d)))
}

async function refresh() {
  const tab = tabs.find(tab => tab.getAttribute("aria-selected") === "true")
  const name = tab.dataset.name
  if (!makers[name]) return
  const body = at(`${name}-body`)
  const key = [checked.text, panel.entry?.name, at("stage").value].join("\0")
  if (shown[name] === key) return
  shown[name] = key
  if (checked.wrong || !panel.entry) {
    body.replaceChildren(element("p", { class: "dim" }, "There is a mistake in the program, or no entry point."))
    return
  }
  body.replaceChildren(element("p", { class: "dim" }, "…"))
  try {
    const made = await makers[name]()
    if (shown[name] === key) body.replaceChildren(made)
  } catch (lost) {
    if (shown[name] === key) body.replaceChildren(element("div", { class: "message error" }, explanation(lost)))
    shown[name] = null
  }
}

// Stages of the compiler.
at("stage").addEventListener("change", refresh)
async function stages() {
  const all = await quietly({ do: "stages" })
  const names = [...new Map(all.map(s => [s.name, s.description]))]
  const options = names.map(([name, description]) => element("option", { value: `after:${name}`, title: description }, `after ${name}: ${description}`))
  at("stage").append(...options)
}

// Dialogs.
async function explainCode(code) {
  const answer = await quietly({ do: "error", code }).catch(() => null)
  if (!answer?.html) return
  at("page-body").innerHTML = answer.html
  prepare(at("page-body"), { open: text => (at("page").close(), open({ text })) })
  at("page").showModal()
}

// Lessons.
function lessonList() {
  const groups = lessons.groups.map(group =>
    element(
      "details",
      { open: group.open },
      element("summary", {}, group.title),
      element("ul", {}, ...group.lessons.map(lesson => element("li", {}, element("a", { href: `#lesson=${lesson.name}` }, lesson.title), element("div", { class: "about" }, ...withCode(lesson.about))))),
    ),
  )
  const guide = element("article", { class: "guide" })
  guide.innerHTML = lessons.tutorial
  prepare(guide, { open: text => open({ text }) })
  at("lesson-list").replaceChildren(...groups, element("details", {}, element("summary", {}, "Tutorial"), guide))
}

// A text in which code stands between backticks.
function withCode(text) {
  return text.split("`").map((piece, i) => (i % 2 ? element("code", {}, piece) : piece))
}

function lessonNamed(name) {
  return lessons.groups.flatMap(group => group.lessons).find(lesson => lesson.name === name)
}

// Shows a program.
async function open(state) {
  panel.forget()
  if (editor.text === state.text) return check(state)
  editor.text = state.text
  clearTimeout(timer)
  await check(state)
}

async function fromHash() {
  const state = await unpack(location.hash)
  if (state?.lesson) {
    const lesson = lessonNamed(state.lesson)
    return lesson && { text: lesson.text }
  }
  return state
}

window.addEventListener("hashchange", async () => {
  const state = await fromHash()
  if (!state) return
  document.body.classList.remove("with-lessons")
  await open(state)
})

// Buttons.
at("run").addEventListener("click", run)
at("format").addEventListener("click", async () => {
  const answer = await quietly({ do: "format", text: editor.text }).catch(lost => ({ error: explanation(lost) }))
  if (answer.error) panel.status.textContent = answer.error
  else if (answer.text !== editor.text) editor.text = answer.text
})
at("share").addEventListener("click", async () => {
  const hash = await pack({ text: editor.text, ...panel.given })
  history.replaceState(null, "", hash)
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false)
  panel.status.textContent = copied ? "The link is copied." : "The link is in the address bar."
})
at("lessons-button").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("with-lessons")
  if (!at("lesson-list").hasChildNodes()) lessonList()
  at("lessons-button").setAttribute("aria-expanded", String(isOpen))
})
at("memory").addEventListener("change", () => {
  panel.memory = Number(at("memory").value) << 20
})
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) run()
})
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close())
}

async function begin() {
  const state = (await fromHash()) ?? { text: lessons.first }
  // While the program is looked at, it is compiled where it will run.
  runner.prepare(state.text).catch(() => {})
  editor = makeEditor(at("editor"), state.text, { par: analysis, changed, moved, run, explain: explainCode })
  await check(state)
  document.documentElement.dataset.ready = "true"
  stages().catch(() => {})
  keep()
}

// Stores the site for when there is no network: not before the first program has run, which all that would hold up.
function keep() {
  if ("serviceWorker" in navigator && location.protocol.startsWith("http")) {
    navigator.serviceWorker.register("sw.js").catch(() => {})
  }
}

// For the console, and for tests.
window.playground = {
  panel,
  get editor() {
    return editor
  },
  lessons: lessons.groups.flatMap(group => group.lessons),
  idle: () => checked.text === editor.text && !runner.busy && !analysis.busy,
  // Waits until a lesson is there.
  opened: name => until(() => editor.text === lessonNamed(name).text && checked.text === editor.text),
  // Shows programs one after the other; those that have no answer, with the reason.
  async each(texts) {
    const lost = []
    for (const text of texts) {
      panel.lost = null
      await open({ text })
      if (panel.lost) lost.push({ text, kind: panel.lost.kind, message: panel.lost.message })
    }
    return lost
  },
}

async function until(condition) {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}

begin().catch(error => {
  panel.status.textContent = `Par cannot be loaded: ${error.message}`
})
