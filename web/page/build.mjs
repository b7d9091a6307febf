// Puts the site together: node build.mjs MODULE FOLDER.

import { build } from "esbuild"
import { createHash } from "node:crypto"
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { documents } from "./documents.mjs"
import { lessons } from "./lessons.mjs"
import { Par } from "./src/core.js"

const here = path.dirname(fileURLToPath(import.meta.url))
const root = path.join(here, "../..")
const [module, out] = process.argv.slice(2).map(name => path.resolve(name))

fs.rmSync(out, { recursive: true, force: true })
fs.mkdirSync(out, { recursive: true })

function write(name, content) {
  const file = path.join(out, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, content)
}

const code = fs.readFileSync(module)
write("par.wasm", code)
write("par.wasm.js", `globalThis.PAR_WASM="${code.toString("base64")}"\n`)

const par = await Par.start(code)
const site = documents(root, par)
for (const [name, text] of site.files) write(name, text)

// `worker:FILE` is the text of a script, `data:lessons` the lessons.
const given = {
  name: "given",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^worker:/ }, ({ path: name, resolveDir }) => ({ path: path.join(resolveDir, name.slice(7)), namespace: "worker" }))
    onLoad({ filter: /.*/, namespace: "worker" }, async ({ path: file }) => {
      const built = await build({ entryPoints: [file], bundle: true, minify: true, format: "iife", write: false })
      return { contents: built.outputFiles[0].text, loader: "text" }
    })
    onResolve({ filter: /^data:lessons$/ }, () => ({ path: "lessons", namespace: "data" }))
    onLoad({ filter: /.*/, namespace: "data" }, () => ({ contents: JSON.stringify(lessons(root, site.tutorial)), loader: "json" }))
  },
}

const bundle = (entry, file) =>
  build({ entryPoints: [path.join(here, entry)], bundle: true, minify: true, format: "iife", target: "es2022", outfile: path.join(out, file), plugins: [given] })
await Promise.all([bundle("src/main.js", "page.js"), bundle("src/document.js", "document.js"), bundle("style.css", "style.css"), bundle("document.css", "document.css")])
fs.copyFileSync(path.join(here, "index.html"), path.join(out, "index.html"))

// Files cached for offline use: all but the module as a script, which is for pages opened as files.
const files = fs.readdirSync(out, { recursive: true, withFileTypes: true })
const names = files.filter(f => f.isFile()).map(f => path.relative(out, path.join(f.parentPath ?? f.path, f.name)).replaceAll(path.sep, "/"))
const stored = names.filter(name => name !== "par.wasm.js").sort()
const hash = createHash("sha256")
for (const name of stored) hash.update(name).update(fs.readFileSync(path.join(out, name)))
const worker = fs.readFileSync(path.join(here, "sw.js"), "utf8")
write("sw.js", worker.replace("@VERSION@", hash.digest("hex").slice(0, 16)).replace("@FILES@", JSON.stringify(["./", ...stored])))

const kb = bytes => `${Math.round(bytes / 1000).toLocaleString("en")} kB`
const script = fs.readFileSync(path.join(out, "page.js"))
console.log(`par.wasm ${kb(code.length)}, compressed ${kb(gzipSync(code, { level: 9 }).length)}; page.js ${kb(script.length)}, compressed ${kb(gzipSync(script, { level: 9 }).length)}`)
console.log(`${names.length} files in ${path.relative(process.cwd(), out)}: put them on any static host, or open index.html`)
