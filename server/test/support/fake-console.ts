/** A small folder that looks like a built console. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { scratch } from './scratch.ts'

export const SCRIPT = 'export const page = "overview"\n'.repeat(50)

export const INDEX = `<!doctype html>
<link rel="icon" href="/console/icon.svg">
<script src="/console/theme.js"></script>
<script type="module" crossorigin src="/console/assets/index-B2m.js"></script>
<p data-path="/console/">Wardkeep</p>
`

const FILES: Readonly<Record<string, string | Buffer>> = {
  'index.html': INDEX,
  'index.html.br': brotliCompressSync(INDEX),
  'index.html.gz': gzipSync(INDEX),
  'theme.js': 'document.documentElement.dataset.theme = "dark"',
  'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
  'assets/index-B2m.js': SCRIPT,
  'assets/index-B2m.js.br': brotliCompressSync(SCRIPT),
  'assets/index-B2m.js.gz': gzipSync(SCRIPT),
  'assets/index-x7.css': 'h1 { color: teal }',
  'assets/notes.md': 'not for browsers',
  '.built-from': 'stamp',
  '.vite/manifest.json': '{}',
}

/** Returns the folder, which is removed with the test or its file. */
export async function madeUpConsole(): Promise<string> {
  const folder = await scratch()
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}
