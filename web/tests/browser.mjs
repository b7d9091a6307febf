// The page in a browser without a window: node browser.mjs FOLDER ANSWERS CHROMIUM. With SHOTS=DIR it leaves pictures there.

import assert from "node:assert"
import fs from "node:fs"
import http from "node:http"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { chromium } from "../page/node_modules/playwright-core/index.mjs"
import { mutated } from "./mutate.mjs"

const [folder, answersFile, executablePath] = process.argv.slice(2)
const MOST_BYTES = 4_000_000
const LOADS = 7
const MUTATED = Number(process.env.MUTATED ?? 1000)
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" }

const server = http.createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html")
  const file = path.join(folder, path.normalize(name))
  fs.readFile(file, (error, bytes) => {
    response.writeHead(error ? 404 : 200, { "content-type": types[path.extname(file)] ?? "text/plain" })
    response.end(bytes)
  })
})
await new Promise(resolve => server.listen(0, "127.0.0.1", resolve))
const home = `http://127.0.0.1:${server.address().port}/`

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
})
// Errors that nobody has caught, of all pages.
const uncaught = []

async function opened(options = {}, url = home) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.on("pageerror", error => uncaught.push(String(error)))
  page.on("console", message => message.type() === "error" && uncaught.push(`${message.text()} ${message.location().url}`))
  page.setDefaultTimeout(30_000)
  await page.goto(url)
  await page.waitForSelector("html[data-ready]")
  return page
}

// Milliseconds from the begin of loading until the page is complete, and until it shows the first value: medians of visits with empty caches.
async function coldLoads(url) {
  const times = []
  for (let visit = 0; visit < LOADS; visit++) {
    const context = await browser.newContext()
    await context.addInitScript(() => {
      const look = () => {
        if (!window.firstValue && document.querySelector("#results .value")) window.firstValue = performance.now()
      }
      new MutationObserver(look).observe(document, { subtree: true, childList: true })
    })
    const own = await context.newPage()
    await own.goto(url)
    await own.waitForFunction(() => window.firstValue)
    times.push(await own.evaluate(() => [performance.getEntriesByType("navigation")[0].loadEventEnd, window.firstValue]))
    await context.close()
  }
  const median = i => Math.round(times.map(t => t[i]).sort((a, b) => a - b)[LOADS >> 1])
  return `complete after ${median(0)} ms, first value after ${median(1)} ms, medians of ${LOADS}`
}

const answers = fs.existsSync(answersFile) ? fs.readFileSync(answersFile, "utf8").split("\n").filter(Boolean).map(line => JSON.parse(line)) : []
const setText = (page, text) => page.evaluate(text => (window.playground.editor.text = text), text)
const finished = page => page.waitForFunction(() => window.playground.idle())
const results = page => page.textContent("#results")
let page

const tests = {
  async "loads, and is small"() {
    page = await opened()
    await page.waitForSelector("#results .value")
    const size = ["par.wasm", "page.js", "style.css", "index.html"].reduce((sum, name) => sum + gzipSync(fs.readFileSync(path.join(folder, name)), { level: 9 }).length, 0)
    // What the processor does besides counts, so that times are no test.
    const file = pathToFileURL(path.resolve(folder, "index.html")).href
    for (const [name, url] of [["a server", home], ["a file", file]]) console.log(`  from ${name}: ${await coldLoads(url)}`)
    console.log(`  ${(size / 1e6).toFixed(2)} MB compressed`)
    assert.ok(size <= MOST_BYTES, `${size} bytes`)
    assert.match(await results(page), /1.*4.*9/)
  },

  async "every example gives what it gives natively"() {
    const lessons = await page.evaluate(() => window.playground.lessons.map(lesson => lesson.name))
    let compared = 0
    for (const name of lessons) {
      await page.evaluate(async name => {
        location.hash = `#lesson=${name}`
        await window.playground.opened(name)
      }, name)
      await finished(page)
      const own = answers.filter(a => a.file === `examples/${name}.par`)
      const native = own.find(a => a.chosen) ?? own[0]
      const buttons = page.locator("#results .value-bar button", { hasText: "Text" })
      const shown = []
      for (let i = 0; i < (await buttons.count()); i++) {
        await buttons.nth(i).click()
        shown.push(await page.locator("#results .value-body").nth(i).textContent())
      }
      if (!native) {
        assert.notEqual(await results(page), "", name)
        continue
      }
      compared++
      if (native.answer.values) assert.deepEqual(shown, native.answer.values.map(value => value.text), name)
      else assert.ok((await results(page)).includes(native.answer.diagnostics[0].message), name)
    }
    console.log(`  ${lessons.length} examples, ${compared} compared`)
    assert.ok(lessons.length > 30)
  },

  async "a mistake shows its message, and its end"() {
    await setText(page, "entry main (xs: []i64) = map (\\x -> x + tru) xs")
    await page.waitForSelector("#messages .message.error")
    assert.match(await page.textContent("#messages"), /unknown name `tru`/)
    await page.waitForSelector(".cm-lintRange-error")
    await page.click("#messages .code")
    await page.waitForSelector("dialog[open]")
    assert.match(await page.textContent("#page-body"), /E0201/)
    await page.click("dialog [data-close]")
    await page.click(".cm-content")
    await page.keyboard.press("Control+End")
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key)
    for (let i = 0; i < 3; i++) await page.keyboard.press("Backspace")
    await page.keyboard.type("1", { delay: 20 })
    await page.waitForFunction(() => !document.querySelector("#messages .message") && document.querySelector("#results .value"))
    assert.match(await results(page), /2.*3.*4/)
  },

  async "names are completed and explained"() {
    await setText(page, "-- | Twice it.\ndef twice (x: i64) : i64 = x * 2\nentry main (count: i64) = twice count + ")
    await page.click(".cm-content")
    await page.keyboard.press("Control+End")
    await page.keyboard.type("cou", { delay: 60 })
    await page.waitForSelector(".cm-tooltip-autocomplete li")
    assert.match(await page.textContent(".cm-tooltip-autocomplete"), /count/)
    await page.waitForTimeout(150)
    await page.keyboard.press("Enter")
    await finished(page)
    await page.waitForFunction(() => window.playground.editor.text.endsWith("+ count"))
    const word = page.locator(".cm-line", { hasText: "entry main" }).locator("text=twice").first()
    const box = await page.locator(".cm-line", { hasText: "entry main" }).boundingBox()
    await page.mouse.move(box.x + 8.43 * 28, box.y + box.height / 2)
    await page.waitForSelector(".hover")
    assert.match(await page.textContent(".hover"), /twice : i64 -> i64[\s\S]*Twice it/)
    await page.mouse.move(5, 400)
    void word
  },

  async "everything can be done with the keyboard"() {
    const own = await opened()
    // Presses a key until an element that the selector fits has the focus.
    const reach = async (selector, key = "Tab") => {
      for (let i = 0; i < 80; i++) {
        if (await own.evaluate(selector => document.activeElement.matches(selector), selector)) return
        await own.keyboard.press(key)
      }
      assert.fail(`${selector} cannot be reached`)
    }
    await reach("#lessons-button")
    await own.keyboard.press("Enter")
    await reach('a[href="#lesson=scans"]')
    await own.keyboard.press("Enter")
    await own.evaluate(() => window.playground.opened("scans"))
    await reach(".cm-content")
    await own.keyboard.press("Control+a")
    await own.keyboard.type("entry main (count: i64) = iota count", { delay: 5 })
    await own.waitForFunction(() => document.querySelector("#under").textContent === "count : i64")
    await own.keyboard.press("Escape")
    await own.waitForFunction(() => window.playground.idle())
    await reach('[role="tab"]')
    for (const name of ["explain", "flat", "tests", "result"]) {
      await own.keyboard.press("ArrowRight")
      await own.waitForSelector(`#${name}:not([hidden])`)
    }
    await reach("#inputs textarea")
    await own.keyboard.press("Control+a")
    await own.keyboard.type("3")
    await own.waitForFunction(() => /^\s*0\s*1\s*2\s*$/.test(document.querySelector("#results .value-body")?.textContent ?? ""))
    await reach("#results .value-bar button:nth-child(2)")
    await own.keyboard.press("Enter")
    await own.waitForSelector("#results img.plot")
    await reach("#share", "Shift+Tab")
    await own.keyboard.press("Enter")
    await own.waitForFunction(() => location.hash.startsWith("#p="))
    await own.context().close()
  },

  async "an endless loop can be stopped"() {
    await setText(page, "entry main (n: i64) = loop x = n while x >= 0 do x + 1 - 1")
    await page.waitForSelector(".stop:not([hidden])")
    await page.click(".stop")
    await page.waitForSelector("#results .message")
    assert.match(await results(page), /Stopped/)
    await page.fill("#inputs textarea", "-7")
    await page.waitForSelector("#results .value")
    assert.match(await results(page), /-7/)
    await page.evaluate(() => (window.playground.panel.patience = 500))
    await page.fill("#inputs textarea", "7")
    await page.waitForFunction(() => /too long/.test(document.querySelector("#results").textContent))
    await page.evaluate(() => (window.playground.panel.patience = 8000))
  },

  async "kernels are WebAssembly, and an endless one can be stopped"() {
    await setText(page, "entry main (n: i64) = i64.sum (map (\\i -> (loop (x, k) = (i + 1, 0i64) while x != 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)).1) (iota n))")
    await finished(page)
    await page.fill("#inputs textarea", "100000")
    await page.waitForFunction(() => /10753840/.test(document.querySelector("#results").textContent))
    assert.ok(!/interpreted/.test(await page.textContent("#status")))
    await setText(page, "entry main (xs: []i64) = map (\\x -> loop y = x while y >= 0 do (y * 3 + 1) % 1000) xs")
    await page.waitForSelector(".stop:not([hidden])")
    await page.waitForTimeout(300)
    await page.click(".stop")
    await page.waitForFunction(() => /Stopped/.test(document.querySelector("#results").textContent))
  },

  async "a check that fails in a kernel is a message at its place"() {
    await setText(page, "entry main (xs: []i64) = map (\\x -> 100 / (x - 2)) xs")
    await page.waitForFunction(() => /division by zero/.test(document.querySelector("#results").textContent))
    await page.fill("#inputs textarea", "[5, 7]")
    await page.waitForFunction(() => /33.*20/s.test(document.querySelector("#results").textContent))
  },

  async "what is too deep or too large is a message"() {
    await setText(page, "def f (x: i64) : i64 = if x == 0 then 0 else 1 + f (x - 1)\nentry main (n: i64) = (f n, last (scan (+) 0 (iota n)))")
    await finished(page)
    await page.fill("#inputs textarea", "100000000")
    await page.waitForSelector("#results .message.error")
    assert.match(await results(page), /deep|memory|too long/)
    await setText(page, "entry main (n: i64) = replicate n 1i64")
    await page.fill("#inputs textarea", "5000000000")
    await page.waitForFunction(() => /memory/.test(document.querySelector("#results").textContent))
    await page.fill("#inputs textarea", "[1")
    await page.waitForSelector('#inputs textarea[aria-invalid="true"]')
    await page.fill("#inputs textarea", "2")
    await page.waitForSelector("#results .value")
  },

  async "values are rows, tables, plots; the compiler shows its work"() {
    await setText(page, "entry main (n: i64) = {ragged = map (\\i -> map f64.i64 (iota i)) (iota n), table = tabulate n (\\i -> tabulate 4 (\\j -> i * j)), text = \"words\", people = [{name = 1i32, old = true}]}")
    await page.fill("#inputs textarea", "6")
    await page.waitForSelector("#results table.record")
    assert.equal(await page.locator("#results .ragged").count(), 6)
    assert.ok((await page.locator("#results table.matrix").count()) >= 1)
    assert.ok((await page.locator("#results table.records").count()) === 1)
    assert.match(await results(page), /words/)
    await shot(page, "values")
    await page.locator("#results .value-bar button", { hasText: "Plot" }).click()
    await page.waitForSelector("#results img.plot")
    await shot(page, "plot")
    await page.focus("#tab-result")
    await page.keyboard.press("ArrowRight")
    const frame = page.frameLocator("#explain-body iframe")
    await frame.locator("h1").waitFor()
    assert.match(await frame.locator("body").textContent(), /map/)
    await shot(page, "explain")
    await page.keyboard.press("ArrowRight")
    await page.waitForFunction(() => /fun|main/.test(document.querySelector("#flat-body").textContent))
    await page.selectOption("#stage", "after:flatten")
    await page.waitForSelector("#flat-body pre")
    await page.keyboard.press("Shift+Tab")
    await page.click("#tab-result")
  },

  async "tests in comments run"() {
    await setText(page, "-- ==\n-- input { 1i64 } output { 2i64 }\n-- input { 1i64 } output { 3i64 }\nentry main (x: i64) = x + 1")
    await finished(page)
    await page.click("#tab-tests")
    await page.waitForFunction(() => /1 passed, 1 failed/.test(document.querySelector("#tests-body").textContent))
    await page.click("#tab-result")
  },

  async "links hold programs and inputs"() {
    const text = "entry other (x: i64) = x\nentry main (𝕩s: []i64) = i64.sum 𝕩s -- ü"
    await setText(page, text.replaceAll("𝕩s", "xs"))
    await finished(page)
    await page.waitForFunction(() => document.querySelectorAll("#entry option").length === 2)
    await page.selectOption("#entry select", "other")
    await page.fill("#inputs textarea", "41")
    await page.click("#share")
    await page.waitForFunction(() => location.hash.startsWith("#p="))
    const other = await opened({}, page.url())
    await other.waitForSelector("#results .value")
    assert.equal(await other.evaluate(() => window.playground.editor.text), text.replaceAll("𝕩s", "xs"))
    assert.match(await results(other), /41/)
    await other.context().close()
    const broken = await opened({}, `${home}#p=AAAA`)
    await broken.waitForSelector("#results .value")
    await broken.context().close()
  },

  async "works without a network, and from a file"() {
    const own = await opened()
    await own.evaluate(() => navigator.serviceWorker.ready)
    await own.waitForFunction(() => navigator.serviceWorker.controller)
    await own.context().setOffline(true)
    await own.reload()
    await own.waitForSelector("#results .value")
    await own.goto(`${home}docs/tutorial.html`)
    await own.waitForSelector(".tools button")
    await own.context().close()
    const local = await opened({}, pathToFileURL(path.resolve(folder, "index.html")).href)
    await local.waitForSelector("#results .value")
    await local.context().close()
  },

  async "documents have blocks that run"() {
    const own = await browser.newPage()
    own.on("pageerror", error => uncaught.push(String(error)))
    await own.goto(`${home}docs/tutorial.html`)
    await own.locator(".tools button", { hasText: "Run" }).first().click()
    await own.waitForSelector(".run .value, .run .message")
    await shot(own, "tutorial")
    await own.locator(".tools a", { hasText: "playground" }).first().click()
    await own.waitForSelector("html[data-ready]")
    await own.waitForSelector("#results .value")
    await own.close()
  },

  async "looks right in the dark and on a phone"() {
    for (const [name, options] of [
      ["light", {}],
      ["dark", { colorScheme: "dark" }],
      ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
      ["phone-dark", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "dark" }],
    ]) {
      const own = await opened(options)
      await own.waitForSelector("#results .value")
      const wide = await own.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.ok(wide <= 0, `${name}: ${wide} pixels too wide`)
      await shot(own, name)
      if (!options.isMobile) {
        await own.click("#lessons-button")
        await setText(own, "entry main (xs: []i64) = map (\\x -> x + tru) xs")
        await own.waitForSelector("#messages .message.error")
        await shot(own, `${name}-mistake`)
      }
      await own.context().close()
    }
  },

  async "mutated programs do no harm"() {
    await page.evaluate(() => (window.playground.panel.patience = 700))
    const texts = await page.evaluate(() => window.playground.lessons.map(lesson => lesson.text))
    const programs = mutated(texts, MUTATED)
    const lost = []
    for (let i = 0; i < programs.length; i += 20) {
      const some = programs.slice(i, i + 20)
      lost.push(...(await page.evaluate(some => window.playground.each(some), some)))
    }
    const bugs = lost.filter(({ kind }) => !["late", "stack", "stopped"].includes(kind))
    for (const { text, message } of bugs.slice(0, 3)) console.log(`${message}\n${text}\n`)
    console.log(`  ${programs.length} programs, ${lost.length} without an answer in time`)
    assert.equal(bugs.length, 0)
  },
}

async function shot(page, name) {
  if (!process.env.SHOTS) return
  fs.mkdirSync(process.env.SHOTS, { recursive: true })
  await page.screenshot({ path: path.join(process.env.SHOTS, `${name}.png`) })
}

let failed = 0
let passed = 0
const only = process.env.ONLY
for (const [name, test] of Object.entries(tests)) {
  if (only && passed && !name.includes(only)) continue
  const before = uncaught.length
  const start = performance.now()
  let problem
  try {
    await test()
  } catch (error) {
    problem = error.message
    if (page) await shot(page, "failed")
  }
  if (uncaught.length > before) problem = [problem, ...uncaught.slice(before, before + 5)].filter(Boolean).join("\n")
  problem ? failed++ : passed++
  console.log(`${problem ? "failed" : "ok"}: ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)${problem ? `\n${problem}` : ""}`)
}
await browser.close()
server.close()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)
