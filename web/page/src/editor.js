// The editor: highlighting, messages, completion, types under the cursor.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, indentUnit } from "@codemirror/language"
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint"
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search"
import { EditorState } from "@codemirror/state"
import { EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view"
import { element } from "./dom.js"
import { coloured, highlighting, language } from "./language.js"

// Milliseconds after which the editor does without an answer.
const PATIENCE = 10000

// An editor that asks `par`; `changed` is called with every new text, `moved` with places of the cursor, `run` for Ctrl-Enter, `explain` with a code.
export function editor(parent, text, { par, changed, moved, run, explain }) {
  const quietly = request => par.ask(request, PATIENCE).catch(() => null)

  async function complete(context) {
    const word = context.matchBefore(/[\w'.]+/)
    if (!word && !context.explicit) return null
    const answer = await quietly({ do: "complete", text: context.state.doc.toString(), at: context.pos })
    if (!answer?.items?.length) return null
    const options = answer.items.map(item => ({ label: item.name, type: item.kind, detail: item.detail ?? undefined, boost: item.kind === "variable" ? 1 : 0 }))
    return { from: answer.from, options, validFor: /^[\w']*$/ }
  }

  async function hover(view, at) {
    const answer = await quietly({ do: "hover", text: view.state.doc.toString(), at })
    if (!answer?.head) return null
    const head = element("code", {}, coloured(answer.head))
    const about = element("div", { class: "about" })
    about.innerHTML = answer.html ?? ""
    const create = () => ({ dom: element("div", { class: "hover" }, head, answer.html ? about : null) })
    return { pos: answer.from, end: Math.max(answer.to, answer.from), create }
  }

  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        bracketMatching(),
        closeBrackets(),
        indentUnit.of("  "),
        language,
        highlighting,
        lintGutter(),
        autocompletion({ override: [complete] }),
        hoverTooltip(hover, { hoverTime: 250 }),
        keymap.of([
          { key: "Mod-Enter", run: () => (run(), true) },
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
        ]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Program", spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorView.updateListener.of(update => {
          if (update.docChanged) changed(update.state.doc.toString())
          if (update.docChanged || update.selectionSet) moved(update.state.selection.main.head)
        }),
      ],
    }),
  })

  return {
    view,
    get text() {
      return view.state.doc.toString()
    },
    set text(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    },
    // Messages at their places, for the text that they are about.
    show(text, diagnostics) {
      if (text !== this.text) return
      const length = view.state.doc.length
      const marks = diagnostics.filter(d => d.at).map(d => mark(d, length, explain))
      view.dispatch(setDiagnostics(view.state, marks))
    },
    goTo(at) {
      const [from, to] = at.map(place => Math.min(place, view.state.doc.length))
      view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true })
      view.focus()
    },
  }
}

function mark(d, length, explain) {
  const [from, to] = d.at.map(place => Math.min(place, length))
  return {
    from,
    to,
    severity: d.severity,
    message: d.message,
    renderMessage() {
      const label = d.labels[0]?.text
      const lines = [label, ...d.notes].filter(Boolean).map(line => element("div", { class: "note" }, line))
      const code = d.code && element("button", { class: "code", type: "button", onclick: () => explain(d.code) }, d.code)
      return element("div", {}, element("div", {}, code || null, code ? " " : null, d.message), ...lines)
    },
  }
}
