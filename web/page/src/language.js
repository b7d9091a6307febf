// Par's tokens, and their colours.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language"
import { tags } from "@lezer/highlight"

const keywords = new Set(
  "def entry let in if then else loop for while do match case with type module import open local assert include sig val".split(" "),
)
const types = new Set("i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool".split(" "))

function token(stream, state) {
  if (stream.match("--")) {
    stream.skipToEnd()
    return "comment"
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string"
  if (stream.match(/^'(?:[^'\\]|\\.)'/)) return "string"
  if (stream.match(/^#\[[^\]]*\]/)) return "meta"
  if (stream.match(/^#[A-Za-z_][\w']*/)) return "atom"
  if (stream.match(/^(?:0x[\da-fA-F_]+|0b[01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:e[+-]?\d+)?)(?:[iuf](?:8|16|32|64))?/)) return "number"
  const name = stream.match(/^[A-Za-z_][\w']*/)
  if (name) {
    const word = name[0]
    const after = state.before
    state.before = word
    if (keywords.has(word)) return "keyword"
    if (word === "true" || word === "false") return "atom"
    if (after === "def" || after === "entry" || after === "type" || after === "module") return "def"
    if (types.has(word)) return "typeName"
    return null
  }
  if (stream.match(/^[-+*/%<>=!&|^~@\\:?.]+/)) return "operator"
  stream.next()
  return null
}

export const language = StreamLanguage.define({
  name: "par",
  startState: () => ({ before: "" }),
  token,
  tokenTable: { def: tags.definition(tags.variableName) },
  languageData: { commentTokens: { line: "--" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
})

const style = HighlightStyle.define([
  { tag: tags.keyword, class: "t-keyword" },
  { tag: tags.comment, class: "t-comment" },
  { tag: tags.string, class: "t-string" },
  { tag: tags.number, class: "t-number" },
  { tag: tags.atom, class: "t-atom" },
  { tag: tags.typeName, class: "t-type" },
  { tag: tags.meta, class: "t-meta" },
  { tag: tags.definition(tags.variableName), class: "t-def" },
])

export const highlighting = syntaxHighlighting(style)

// A text with elements for its tokens, for blocks that are no editors.
export function coloured(text) {
  const out = document.createDocumentFragment()
  const names = { def: "def", typeName: "type" }
  for (const [i, line] of text.split("\n").entries()) {
    if (i) out.append("\n")
    const state = { before: "" }
    const stream = lineStream(line)
    while (stream.at < line.length) {
      const start = stream.at
      const kind = token(stream, state)
      const piece = line.slice(start, stream.at)
      if (!kind || kind === "operator") out.append(piece)
      else {
        const span = document.createElement("span")
        span.className = `t-${names[kind] ?? kind}`
        span.textContent = piece
        out.append(span)
      }
    }
  }
  return out
}

// The part of CodeMirror's stream interface that `token` uses.
function lineStream(line) {
  return {
    at: 0,
    match(pattern) {
      const rest = line.slice(this.at)
      const found = typeof pattern === "string" ? rest.startsWith(pattern) && [pattern] : rest.match(pattern)
      if (!found) return null
      this.at += found[0].length
      return found
    },
    skipToEnd() {
      this.at = line.length
    },
    next() {
      this.at++
    },
  }
}
