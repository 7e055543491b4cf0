/** docs/asvs.md speaks of every requirement of its chapters, and of files that are there. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { REQUIREMENTS } from './asvs-numbers.ts'
import { ROOT, textOf } from './documents.ts'

const PAGE = 'docs/asvs.md'
const STATES = ['met', 'in part', 'not met', 'not applicable']

interface Row {
  chapter: string
  number: string
  level: string
  state: string
  where: string
  proof: string
}

function rowsOf(text: string): Row[] {
  return text.split(/^## /m).flatMap((section) =>
    section
      .split('\n')
      .filter((line) => /^\| \d/.test(line))
      .map((line) => {
        const [number = '', level = '', , state = '', where = '', proof = '', ...more] = line
          .slice(1, line.lastIndexOf('|'))
          .split('|')
          .map((cell) => cell.trim())
        expect(more, line).toEqual([])
        return { chapter: section.split(' ')[0] ?? '', number, level, state, where, proof }
      }),
  )
}

const rows = rowsOf(textOf(PAGE))
/** What stands in a cell as code and is a path; other code is a name. */
const filesOf = (cell: string) =>
  [...cell.matchAll(/`([^`]+)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => name.includes('/') || /\.\w+$|^Dockerfile$/.test(name))

describe('the page on the ASVS', () => {
  test.each(Object.entries(REQUIREMENTS))(
    'has a row for every requirement of %s at levels 1 and 2, and no other',
    (chapter, numbers) => {
      const written = rows.filter((row) => row.chapter === chapter)
      expect(written.map(({ number, level }) => `${number}:${level}`)).toEqual(numbers.split(' '))
    },
  )

  test('has no row of another chapter', () => {
    expect(new Set(rows.map(({ chapter }) => chapter))).toEqual(new Set(Object.keys(REQUIREMENTS)))
  })

  test('knows four states, and says of each but the first why', () => {
    const wrong = rows.filter(({ state, where }) => {
      const reason = where.replaceAll(/`[^`]+`/g, '').replaceAll(/[,;–\s]/g, '')
      return !STATES.includes(state) || (state !== 'met' && reason === '')
    })
    expect(wrong).toEqual([])
  })

  test('says of what is met where it is', () => {
    expect(rows.filter(({ state, where }) => state === 'met' && !filesOf(where)[0])).toEqual([])
  })

  test('names files that are there', () => {
    const named = rows.flatMap(({ where, proof }) => [...filesOf(where), ...filesOf(proof)])
    expect(named.length).toBeGreaterThan(200)
    expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
  })

  test('names tests as tests', () => {
    const named = rows.flatMap(({ proof }) => filesOf(proof))
    expect(named.filter((file) => !file.endsWith('.test.ts'))).toEqual([])
  })
})
