// Blocks of code in documents that can be run where they stand.

import { element } from "./dom.js"
import { coloured } from "./language.js"
import { pack } from "./link.js"
import { Panel } from "./panel.js"
import { Par } from "./par.js"

const PATIENCE = 20000
let par

// A program is what says `entry`, or a definition called `main`.
const isProgram = text => /^\s*(?:#\[[^\]]*\]\s*)*(?:entry\s|def\s+main\b)/m.test(text)

// Colours all blocks below an element, and gives programs a button. `open` is called with a program's text; without it there is a link to the playground at `home`.
export function prepare(parent, { open, home } = {}) {
  for (const code of parent.querySelectorAll("pre > code.language-par")) {
    const text = code.textContent
    code.replaceChildren(coloured(text))
    if (!isProgram(text)) continue
    const tools = element("div", { class: "tools" })
    if (open) {
      tools.append(element("button", { type: "button", onclick: () => open(text) }, "Open in the editor"))
    } else {
      const run = element("button", { type: "button", onclick: () => (run.remove(), start(tools, text)) }, "Run")
      const link = element("a", { href: home }, "Open in the playground")
      link.addEventListener("click", async event => {
        event.preventDefault()
        location.href = new URL(await pack({ text }), new URL(home, location.href))
      })
      tools.append(run, " ", link)
    }
    code.parentElement.after(tools)
  }
}

async function start(tools, text) {
  par ??= new Par()
  const panel = new Panel(par)
  tools.append(element("div", { class: "run" }, panel.choice, panel.inputs, panel.status, panel.stopButton, panel.results))
  panel.status.textContent = "loading …"
  try {
    const answer = await par.ask({ do: "check", text }, PATIENCE)
    if (answer.wrong) panel.results.replaceChildren(...answer.diagnostics.map(d => panel.message(d)))
    panel.status.textContent = ""
    panel.take(text, answer.entries)
    await panel.run(true)
  } catch (error) {
    panel.status.textContent = String(error.message)
  }
}
