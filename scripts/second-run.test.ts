/** The files of the second run, and the records used to choose them. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { ownerClient } from '../server/src/platform/db/connection.ts'
import { emptyDatabase } from '../server/test/support/database.ts'
import { fingerprintOf, record } from '../server/test/support/record-statements.ts'
import { covering, needsNoBrowser } from './second-run.mjs'

describe('the test files selected for the second run', () => {
  const all = [
    { file: 'quick', seconds: 1, statements: ['a', 'b'] },
    { file: 'slow', seconds: 60, statements: ['a', 'b', 'c'] },
    { file: 'other', seconds: 2, statements: ['c', 'd'] },
    { file: 'pure', seconds: 1, statements: [] },
  ]

  it('execute every statement in little time', () => {
    expect(covering(all)).toEqual(['other', 'quick'])
  })

  it('are the same for any order of the recorded files', () => {
    const same = ['x', 'y', 'z'].map((file) => ({ file, seconds: 1, statements: ['a'] }))
    expect(covering(same)).toEqual(['x'])
    expect(covering(same.toReversed())).toEqual(['x'])
  })

  it('include the only file in which a statement has a certain outcome, however slow the file is', () => {
    const rare = { file: 'rare', seconds: 600, statements: ['40001 a'] }
    expect(covering([...all, rare])).toContain('rare')
  })
})

it('the selection excludes browser tests from the second run', () => {
  const files = ['users-in-browser.test.ts', 'users.test.ts'].map((file) => ({ file }))
  expect(files.filter(needsNoBrowser)).toEqual([{ file: 'users.test.ts' }])
})

describe('the record of executed statements', () => {
  it('is the same for statements that differ only in numbers, IDs and lengths of lists', () => {
    const one = fingerprintOf('select *\n  from journal_20261121 where id in ($1, $2, $3) limit 5')
    expect(one).toBe(fingerprintOf('select * from journal_20261122 where id in ($1,$2) limit 10'))
    expect(one).not.toBe(fingerprintOf('select * from journal_20261121 where id = $1 limit 5'))
  })

  it('contains the statements of the service with their results, and no statements of the test', async () => {
    const noted = new Set<string>()
    const database = await emptyDatabase()
    onTestFinished(await record((line) => void noted.add(line)))
    await database.sql('select 0')
    const client = ownerClient(database.address)
    await client.connect()
    await client.query('select 1')
    await client.query('select 1 where false')
    await expect(client.query('select nothing')).rejects.toThrow('nothing')
    await client.end()
    const isFirstMessage = (line: string) => line.includes('pg_is_in_recovery()')
    expect([...noted].filter(isFirstMessage)).toHaveLength(1)
    expect([...noted].filter((line) => !isFirstMessage(line)).sort()).toEqual([
      '42703 select nothing',
      'none select 0 where false',
      'rows select 0',
    ])
  })
})
