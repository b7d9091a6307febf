// The documents of the project as pages, with blocks that can be run.

import fs from "node:fs"
import path from "node:path"

const escape = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

function page(title, body, up = "../") {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)} · Par</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><g fill='%232b6cb0'><path d='M1 2h12v3H1zM1 7h6v3H1zM1 12h9v3H1z'/></g></svg>">
<link rel="stylesheet" href="${up}document.css">
</head>
<body data-root="${up}">
<header><a href="${up}index.html">Playground</a> <a href="${up}docs/index.html">Documentation</a> <a href="${up}library/index.html">Library</a> <a href="${up}errors/index.html">Errors</a></header>
<main class="guide">
${body}</main>
<script src="${up}document.js"></script>
</body>
</html>
`
}

// Links between documents lead to their pages, those to what the site does not have become plain text.
function linked(html, pages) {
  return html.replace(/<a href="([^"]*)">(.*?)<\/a>/gs, (whole, href, text) => {
    if (/^(?:https?:|#)/.test(href)) return whole
    const [file, anchor] = href.split("#")
    const name = path.basename(file, ".md")
    if (file.endsWith(".md") && pages.has(name)) return `<a href="${name}.html${anchor ? `#${anchor}` : ""}">${text}</a>`
    if (/(?:^|\/)errors\/?$/.test(file)) return `<a href="../errors/index.html">${text}</a>`
    return text
  })
}

// Headings have names, as on other sites.
function anchored(html) {
  return html.replace(/<h([1-4])>(.*?)<\/h\1>/gs, (_, level, text) => {
    const name = text.replace(/<[^>]*>|&\w+;/g, "").toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-")
    return `<h${level} id="${name}">${text}</h${level}>`
  })
}

// All pages as [name, text], and the tutorial's body for the playground.
export function documents(root, par) {
  const folder = path.join(root, "docs")
  const names = fs.readdirSync(folder).filter(name => name.endsWith(".md")).map(name => name.slice(0, -3))
  const pages = new Set(names)
  const render = text => anchored(linked(par.ask({ do: "markdown", text }).html, pages))
  const files = []
  const entries = []
  let tutorial = ""
  for (const name of names) {
    const text = fs.readFileSync(path.join(folder, `${name}.md`), "utf8")
    const title = text.match(/^# (.*)/m)?.[1] ?? name
    const body = render(text)
    if (name === "tutorial") tutorial = body
    files.push([`docs/${name}.html`, page(title, body)])
    entries.push({ name, title })
  }
  const order = ["tutorial", "language", "commands", "data", "derivatives"]
  const rank = name => (order.includes(name) ? order.indexOf(name) : order.length)
  entries.sort((a, b) => rank(a.name) - rank(b.name) || a.title.localeCompare(b.title))
  const list = entries.map(({ name, title }) => `<li><a href="${name}.html">${escape(title.replaceAll("`", ""))}</a></li>\n`)
  const others = `<li><a href="../library/index.html">The library</a>, with a search</li>\n<li><a href="../errors/index.html">Errors and warnings</a></li>\n`
  files.push(["docs/index.html", page("Documentation", `<h1>Documentation</h1>\n<ul>\n${list.join("")}${others}</ul>\n`)])
  files.push(...par.ask({ do: "library" }).files)
  return { files, tutorial: tutorial.replace(/<a href="(?!https?:|#|\.\.)/g, '<a href="docs/').replaceAll('href="../', 'href="') }
}
