// The script of documents.

import { prepare } from "./blocks.js"

prepare(document.body, { home: document.body.dataset.root + "index.html" })
