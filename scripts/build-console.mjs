/**
 * Builds the console into `console/dist`: Vite's build, compressed variants beside its files, and the stamp of the
 * sources. An interrupted build leaves the previous one untouched.
 */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { build } from 'vite'
import { consoleStamp, stampFile } from './launch/console.mjs'

/** The minimum size of files to compress. Compressing smaller files saves no packet. */
const minBytes = 1000
const compressible = ['.css', '.html', '.js', '.svg']

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = path.join(root, 'console/dist')
const unfinished = path.join(root, `console/dist-unfinished-${process.pid}`)

/** Writes `*.br` and `*.gz` beside a file, at the highest levels. */
async function compress(file) {
  const content = await readFile(file)
  if (content.length < minBytes) return
  const quality = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params: quality }),
    promisify(gzip)(content, { level: zlib.Z_BEST_COMPRESSION }),
  ])
  await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)])
}

/** Returns the files below a folder, without hidden ones, such as the manifest. */
async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !path.relative(folder, file).startsWith('.'))
}

// Vitest sets NODE_ENV to `test`, and the build would then contain React's checks for development.
process.env.NODE_ENV = 'production'
// The stamp is taken before the build, so that sources that change during the build make it outdated.
const stamp = consoleStamp(root)
await build({
  root: path.join(root, 'console'),
  logLevel: 'warn',
  build: { outDir: unfinished, emptyOutDir: true },
})
const files = await filesIn(unfinished)
await Promise.all(files.filter((file) => compressible.includes(path.extname(file))).map(compress))
await writeFile(path.join(unfinished, stampFile), stamp)
await rm(dist, { recursive: true, force: true })
await rename(unfinished, dist)
