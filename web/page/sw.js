// Keeps the playground for when there is no network: everything of this version is stored at the first visit.

const VERSION = "par-playground-@VERSION@"
const FILES = @FILES@

self.addEventListener("install", event => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then(cache => cache.addAll(FILES.map(file => new Request(file, { cache: "reload" }))))
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener("activate", event => {
  const isOld = name => name.startsWith("par-playground-") && name !== VERSION
  event.waitUntil(
    caches
      .keys()
      .then(names => Promise.all(names.filter(isOld).map(name => caches.delete(name))))
      .then(() => self.clients.claim()),
  )
})

self.addEventListener("fetch", event => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return
  const stored = caches.open(VERSION).then(cache => cache.match(event.request, { ignoreSearch: true }))
  event.respondWith(stored.then(response => response ?? fetch(event.request)))
})
