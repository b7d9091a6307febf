// Runs Par. Messages: {start: module or bytes}, then {id, request}; answers are {id, answer} or {id, crash}, after
// which the worker is of no use any more.

import { Par } from "./core.js"

let started

self.onmessage = async ({ data }) => {
  if (data.start) {
    started = Par.start(data.start)
    started.catch(() => {})
    return
  }
  let par
  try {
    par = await started
    self.postMessage({ id: data.id, answer: par.ask(data.request) })
  } catch (error) {
    const crash = par ? par.crash(error) : { kind: "trap", message: String(error.message ?? error) }
    self.postMessage({ id: data.id, crash })
  }
}
