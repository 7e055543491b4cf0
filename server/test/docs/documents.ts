/** Reads the repository's documents: their text, their tables, their links. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '../../..')

/** Folders with packages, and folders with the copies that `npm run docs` makes. */
const COPIES = new Set(['node_modules', 'project', 'dist'])

/** Returns the text of a file, by its path from the root of the repository. */
export function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

/** Returns every document of the repository, by its path from the root. */
export async function documents(): Promise<string[]> {
  const places = ['*.md', 'docs/**/*.md', '{server,client,bench}/**/*.md']
  return Array.fromAsync(
    glob(places, { cwd: ROOT, exclude: (name) => COPIES.has(path.basename(name)) }),
  )
}

/** Returns the rows, as trimmed cells, of the only table whose first column has this heading. */
export function tableOf(file: string, heading: string): string[][] {
  const lines = textOf(file).split('\n')
  const heads = lines.flatMap((line, index) => (line.startsWith(`| ${heading} |`) ? [index] : []))
  const [head] = heads
  if (heads.length !== 1 || head === undefined)
    throw new Error(`${file} has ${heads.length} tables that begin with "${heading}"`)
  const rows = lines.slice(head + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end === -1 ? undefined : end).map(cellsOf)
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim())
}

/** Returns `name` from a cell that contains only this code span. @throws Error when the cell is anything else */
export function named(cell = ''): string {
  const name = /^`([^`]+)`$/.exec(cell)?.[1]
  if (!name) throw new Error(`not a name in code: ${cell}`)
  return name
}

/** Returns a document without its code blocks and code spans. */
export function proseOf(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*`/g, '')
}

/** Returns the fenced blocks of one language. */
export function blocksOf(text: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')
  return [...text.matchAll(fence)].map(([, block]) => block ?? '')
}
