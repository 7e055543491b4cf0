import { expect, test } from 'vitest'
import { LOCKS } from './lock-numbers.ts'
import { readMigrations } from './migrate.ts'

test('no two locks have one number', () => {
  const numbers = Object.values(LOCKS)
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('the migrations take the locks that are theirs, by the numbers that are registered', async () => {
  const migrations = await readMigrations()
  const taken = migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/pg_(?:try_)?advisory\w*lock\w*\((\d+)\)/g)].map(([, number]) =>
      Number(number),
    ),
  )
  expect([...new Set(taken)].sort()).toEqual([LOCKS.journalPartitions, LOCKS.deliveryPartitions])
})
