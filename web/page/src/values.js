// Values as elements: numbers, rows of cells, tables, rows of different lengths. Trees are those of `web/src/show.rs`.

import { element } from "./dom.js"

const isCell = node => typeof node === "string" || (node?.name && !node.parts.length)
const isRow = node => node?.rows && node.rows.every(isCell)

export function draw(node) {
  if (node == null) return element("span", {}, "?")
  if (isCell(node)) return element("span", { class: "scalar" }, cellText(node))
  if (node.name) return constructor(node)
  if (node.fields) return fields(node)
  if (typeof node.text === "string") return texts(node)
  if (!node.count) return element("span", { class: "empty" }, "[] no elements")
  if (isRow(node)) return element("div", { class: "rows" }, rowOf(node, shades(node.rows)), rest(node))
  if (node.rows.every(row => typeof row?.text === "string" || row?.count === 0)) return listOfTexts(node)
  if (node.rows.every(isRow)) return rowsOf(node)
  if (node.rows.every(row => row?.fields)) return records(node)
  return list(node)
}

function cellText(node) {
  return typeof node === "string" ? node : node.hidden ? `(${node.name})` : `#${node.name}`
}

function constructor(node) {
  return element("span", { class: "sum" }, element("b", {}, `#${node.name}`), ...node.parts.map(draw))
}

// The range of numbers, as a function from text to a shade.
function shades(cells) {
  const numbers = cells.map(Number).filter(Number.isFinite)
  const low = Math.min(...numbers)
  const high = Math.max(...numbers)
  return text => {
    const x = Number(text)
    return high > low && Number.isFinite(x) ? Math.round(((x - low) / (high - low)) * 100) : 0
  }
}

function cell(name, node, shade, title) {
  const text = cellText(node)
  const truth = text === "true" || text === "false" ? ` ${text}` : ""
  return element(name, { class: `cell${truth}`, style: `--shade:${shade(text)}%`, title }, text)
}

function rowOf(row, shade, place = "") {
  const cells = row.rows.map((node, i) => cell("span", node, shade, `${place}[${i}]`))
  return element("span", { class: "row" }, ...cells, row.count ? null : element("span", { class: "empty" }, "empty"), rest(row))
}

function rest(node) {
  const more = node.count - node.rows.length
  return more > 0 ? element("span", { class: "more" }, `… ${more.toLocaleString("en")} more`) : null
}

// Rows of one length are a table; others are drawn below each other, with their lengths.
function rowsOf(node) {
  const shade = shades(node.rows.flatMap(row => row.rows))
  const same = node.rows.every(row => row.count === node.rows[0].count) && node.rows[0].count > 0
  if (same && !node.rows[0].ragged) {
    const rows = node.rows.map((row, i) =>
      element("tr", {}, element("th", { scope: "row" }, String(i)), ...row.rows.map((c, j) => cell("td", c, shade, `[${i}][${j}]`)), rest(row) && element("td", {}, rest(row))),
    )
    return element("div", { class: "rows" }, element("table", { class: "matrix" }, element("tbody", {}, ...rows)), rest(node))
  }
  const rows = node.rows.map((row, i) =>
    element("div", { class: "ragged" }, element("span", { class: "length", title: `row ${i} has ${row.count} elements` }, String(row.count)), rowOf(row, shade, `[${i}]`)),
  )
  return element("div", { class: "rows" }, ...rows, rest(node))
}

function texts(node) {
  return element("div", { class: "rows" }, element("pre", { class: "text" }, node.text), element("span", { class: "more" }, `${node.count} bytes`))
}

function listOfTexts(node) {
  const items = node.rows.map(row => element("li", {}, element("code", {}, JSON.stringify(row.text ?? ""))))
  return element("div", { class: "rows" }, element("ol", { start: 0 }, ...items), rest(node))
}

function fields(node) {
  const rows = node.fields.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, node.tuple ? `.${name}` : name), element("td", {}, draw(value))))
  return rows.length ? element("table", { class: "record" }, element("tbody", {}, ...rows)) : element("span", {}, "()")
}

function records(node) {
  const first = node.rows[0]
  const names = first.fields.map(([name]) => element("th", { scope: "col" }, first.tuple ? `.${name}` : name))
  const rows = node.rows.map((row, i) => element("tr", {}, element("th", { scope: "row" }, String(i)), ...row.fields.map(([, value]) => element("td", {}, draw(value)))))
  return element(
    "div",
    { class: "rows" },
    element("table", { class: "records" }, element("thead", {}, element("tr", {}, element("td", {}), ...names)), element("tbody", {}, ...rows)),
    rest(node),
  )
}

function list(node) {
  const items = node.rows.map(row => element("li", {}, draw(row)))
  return element("div", { class: "rows" }, element("ol", { start: 0 }, ...items), rest(node))
}
