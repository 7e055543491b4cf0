/** The documents hang together: every link leads somewhere, and every page can be reached. */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { documents, proseOf, ROOT, textOf } from './documents.ts'

interface Link {
  from: string
  /** The path from the root; the document itself for a mere anchor. */
  to: string
  anchor: string | undefined
}

/** Fewer than these mean that the reading went wrong, not that all is well. */
const FEWEST_DOCUMENTS = 25
const FEWEST_LINKS = 80

let files: string[]
let links: Link[]

beforeAll(async () => {
  files = await documents()
  links = files.flatMap(linksOf)
})

/** The links to places in the repository; what lies outside needs a network to be checked. */
function linksOf(from: string): Link[] {
  const targets = [...proseOf(textOf(from)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to)
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file, anchor] = target.split('#')
      const to = file ? path.posix.join(path.posix.dirname(from), file) : from
      return { from, to, anchor }
    })
}

/** The anchors of a document's headings, made as forges make them. */
function anchorsOf(file: string): string[] {
  return [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

const show = ({ from, to, anchor }: Link) => `${from} → ${to}${anchor ? `#${anchor}` : ''}`

describe('the documents', () => {
  test('were all read', () => {
    expect(files.length).toBeGreaterThanOrEqual(FEWEST_DOCUMENTS)
    expect(links.length).toBeGreaterThanOrEqual(FEWEST_LINKS)
  })

  test('link to files that exist', () => {
    expect(links.filter(({ to }) => !existsSync(path.join(ROOT, to))).map(show)).toEqual([])
  })

  test('link to headings that exist', () => {
    const broken = links.filter(
      ({ to, anchor }) => anchor && to.endsWith('.md') && !anchorsOf(to).includes(anchor),
    )
    expect(broken.map(show)).toEqual([])
  })

  test('can all be reached from the README', () => {
    const reached = new Set(['README.md'])
    for (const file of reached)
      for (const link of links) if (link.from === file) reached.add(link.to)
    expect(files.filter((file) => !reached.has(file))).toEqual([])
  })
})

describe.each(['decisions', 'runbooks'])('docs/%s/README.md', (folder) => {
  test('lists every page of its folder once, and no other', () => {
    const listed = links
      .filter(({ from }) => from === `docs/${folder}/README.md`)
      .map(({ to }) => path.basename(to))
    const pages = readdirSync(path.join(ROOT, 'docs', folder)).filter(
      (name) => name !== 'README.md',
    )
    expect(listed.sort()).toEqual(pages.sort())
  })
})

describe('the decisions', () => {
  test('are numbered without a gap, and each has its context, decision and consequences', () => {
    const pages = files.filter((file) => /^docs\/decisions\/\d/.test(file)).sort()
    for (const [index, page] of pages.entries()) {
      const number = String(index + 1).padStart(4, '0')
      expect(path.basename(page)).toMatch(new RegExp(`^${number}-[a-z0-9-]+\\.md$`))
      const headings = [...textOf(page).matchAll(/^##? (.+)$/gm)].map(([, heading]) => heading)
      expect(headings).toEqual([
        expect.stringMatching(new RegExp(`^${number} `)),
        'Context',
        'Decision',
        'Consequences',
      ])
    }
    expect(pages.length).toBeGreaterThan(0)
  })
})
