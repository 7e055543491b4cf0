/** The pages of the site: their addresses, the navigation, and copies of the documents that lie outside `docs/`. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '../..')

/** Folders of pages, in the order of a reader's needs. */
const SECTIONS = [
  { text: 'Tutorials', folder: 'docs/tutorials' },
  { text: 'Operate', folder: 'docs/how-to/operate' },
  { text: 'Administer', folder: 'docs/how-to/administer' },
  { text: 'Integrate', folder: 'docs/how-to/integrate' },
  { text: 'Runbooks', folder: 'docs/runbooks' },
  { text: 'Reference', folder: 'docs/reference' },
  { text: 'Explanation', folder: 'docs/explanation' },
  { text: 'Decisions', folder: 'docs/explanation/decisions' },
]

/** Documents outside `docs/`, by the name of their copy in `docs/project/`. */
const PROJECT: Readonly<Record<string, string>> = {
  about: 'README.md',
  architecture: 'ARCHITECTURE.md',
  contributing: 'CONTRIBUTING.md',
  security: 'SECURITY.md',
  changelog: 'CHANGELOG.md',
  client: 'client/README.md',
}

interface Link {
  text: string
  link: string
}

/** Copies the documents outside `docs/`, because VitePress reads one folder. */
export function copyProjectPages(): void {
  mkdirSync(`${ROOT}/docs/project`, { recursive: true })
  for (const [name, file] of Object.entries(PROJECT))
    copyFileSync(`${ROOT}/${file}`, `${ROOT}/docs/project/${name}.md`)
}

/** Returns the file that a page of the site shows, relative to the root of the repository. */
export function sourceOf(page: string): string {
  const file = path.relative(ROOT, page)
  return file.startsWith('docs/project/') ? (PROJECT[path.basename(file, '.md')] ?? file) : file
}

/** Returns the address of a document, or undefined for a file that is not a page. */
export function addressOf(file: string): string | undefined {
  const [name] = Object.entries(PROJECT).find(([, source]) => source === file) ?? []
  if (name) return `/project/${name}`
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return undefined
  return `/${file.slice('docs/'.length, -'.md'.length).replace(/(^|\/)README$/, '$1')}`
}

/** Returns the sidebar: a group for each folder, closed except the first. */
export function sidebar() {
  const groups = SECTIONS.map(({ text, folder }, at) => ({
    text,
    collapsed: at > 0,
    items: pagesIn(folder),
  }))
  const items = Object.values(PROJECT).map(linkTo)
  return [...groups, { text: 'Project', collapsed: true, items }]
}

/** The pages of a folder, its overview first. */
function pagesIn(folder: string): Link[] {
  const names = readdirSync(`${ROOT}/${folder}`).filter((name) => name.endsWith('.md'))
  const order = (name: string) => (name === 'README.md' ? '' : name)
  return names
    .sort((one, other) => order(one).localeCompare(order(other)))
    .map((name) => linkTo(`${folder}/${name}`))
}

/** A link with the first heading of the document. */
function linkTo(file: string): Link {
  const [, heading = file] = /^# (.+)$/m.exec(readFileSync(`${ROOT}/${file}`, 'utf8')) ?? []
  return { text: heading.replaceAll('`', ''), link: addressOf(file) ?? '/' }
}
