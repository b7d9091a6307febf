// Programs in links: `#p=` and the program with its inputs, compressed, in letters that need no quoting.

async function through(stream, bytes) {
  const writer = stream.writable.getWriter()
  writer.write(bytes).catch(() => {})
  writer.close().catch(() => {})
  return new Uint8Array(await new Response(stream.readable).arrayBuffer())
}

export async function pack(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)))
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return `#p=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`
}

// The state in a hash: {text, entry, inputs}, or {lesson}; nothing if there is none that can be read.
export async function unpack(hash) {
  const lesson = hash.match(/^#lesson=(.+)$/)
  if (lesson) return { lesson: decodeURIComponent(lesson[1]) }
  const packed = hash.match(/^#p=([\w-]+)$/)
  if (!packed) return null
  try {
    const text = atob(packed[1].replaceAll("-", "+").replaceAll("_", "/"))
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, c => c.charCodeAt(0)))
    const state = JSON.parse(new TextDecoder().decode(bytes))
    return typeof state.text === "string" ? state : null
  } catch {
    return null
  }
}
