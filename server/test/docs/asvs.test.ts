/** docs/reference/asvs.md covers every requirement of its chapters, and names existing files. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { REQUIREMENTS } from './asvs-numbers.ts'
import { ROOT, textOf } from './documents.ts'

const PAGE = 'docs/reference/asvs.md'
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
/** Returns the paths in the code spans of a cell. Other code spans are names. */
const filesOf = (cell: string) =>
  [...cell.matchAll(/`([^`]+)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => name.includes('/') || /\.\w+$|^Dockerfile$/.test(name))

describe('the documentation page about ASVS', () => {
  test.each(Object.entries(REQUIREMENTS))(
    'has a row for every requirement of %s at levels 1 and 2, and no other',
    (chapter, numbers) => {
      const written = rows.filter((row) => row.chapter === chapter)
      expect(written.map(({ number, level }) => `${number}:${level}`)).toEqual(numbers.split(' '))
    },
  )

  test('has no row of a chapter without such requirements', () => {
    expect(new Set(rows.map(({ chapter }) => chapter))).toEqual(new Set(Object.keys(REQUIREMENTS)))
  })

  test('uses four states, and gives a reason for every state except "met"', () => {
    const wrong = rows.filter(({ state, where }) => {
      const reason = where.replaceAll(/`[^`]+`/g, '').replaceAll(/[,;–\s]/g, '')
      return !STATES.includes(state) || (state !== 'met' && reason === '')
    })
    expect(wrong).toEqual([])
  })

  test('names a location in the code for every requirement that is met', () => {
    expect(rows.filter(({ state, where }) => state === 'met' && !filesOf(where)[0])).toEqual([])
  })

  test('names only existing files', () => {
    const named = rows.flatMap(({ where, proof }) => [...filesOf(where), ...filesOf(proof)])
    expect(named.length).toBeGreaterThan(200)
    expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
  })

  test('names only test files as tests', () => {
    const named = rows.flatMap(({ proof }) => filesOf(proof))
    expect(named.filter((file) => !file.endsWith('.test.ts'))).toEqual([])
  })
})
