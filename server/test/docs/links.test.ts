/** Every link in the documents has an existing target, and every page is linked. */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { documents, proseOf, ROOT, textOf } from './documents.ts'

interface Link {
  from: string
  /** The target as a path from the root. For a link with only an anchor, this is the document itself. */
  to: string
  anchor: string | undefined
}

/** With a smaller number, the test has not found the documents. */
const FEWEST_DOCUMENTS = 25
const FEWEST_LINKS = 80

let files: string[]
let links: Link[]

beforeAll(async () => {
  files = await documents()
  links = files.flatMap(linksOf)
})

/** Returns the links within the repository. Checking external links would need a network. */
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

/** Returns the anchors of a document's headings, as code hosts generate them. */
function anchorsOf(file: string): string[] {
  return [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

const show = ({ from, to, anchor }: Link) => `${from} → ${to}${anchor ? `#${anchor}` : ''}`

describe('the documents of the repository', () => {
  test('are all found by this test', () => {
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

describe.each(['explanation/decisions', 'runbooks'])('docs/%s/README.md', (folder) => {
  test('lists every page of its folder once, and no other page', () => {
    const listed = links
      .filter(({ from }) => from === `docs/${folder}/README.md`)
      .filter(
        ({ to }) => path.dirname(to) === `docs/${folder}` && path.basename(to) !== 'README.md',
      )
      .map(({ to }) => path.basename(to))
    const pages = readdirSync(path.join(ROOT, 'docs', folder)).filter(
      (name) => name !== 'README.md',
    )
    expect(listed.sort()).toEqual(pages.sort())
  })
})

test('docs/README.md lists every page of the tutorials, guides, reference and explanations', () => {
  const listed = new Set(links.filter(({ from }) => from === 'docs/README.md').map(({ to }) => to))
  const pages = files.filter((file) =>
    /^docs\/(tutorials|how-to|reference|explanation\/[^/]+$)/.test(file),
  )
  expect(pages.filter((page) => !listed.has(page))).toEqual([])
})

describe('the runbooks', () => {
  test('each have a symptom, an impact, steps, a verification and a rollback', () => {
    const pages = files.filter((file) => /^docs\/runbooks\/(?!README)/.test(file))
    for (const page of pages) {
      const headings = [...textOf(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
      expect(headings, page).toEqual(['Symptom', 'Impact', 'Steps', 'Verify', 'Undo'])
    }
    expect(pages.length).toBeGreaterThan(0)
  })
})

describe('the decisions', () => {
  test('are numbered without a gap, and each has its context, decision and consequences', () => {
    const pages = files.filter((file) => /^docs\/explanation\/decisions\/\d/.test(file)).sort()
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
