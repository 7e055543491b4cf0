import { expect, test } from 'vitest'
import { readMigrations } from '../schema/migrate.ts'
import { LOCKS } from './lock-numbers.ts'

test('the lock registry gives every lock a unique number', () => {
  const numbers = Object.values(LOCKS)
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('the lock registry matches the lock numbers used by the migrations', async () => {
  const migrations = await readMigrations()
  const taken = migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/pg_(?:try_)?advisory\w*lock\w*\((\d+)\)/g)].map(([, number]) =>
      Number(number),
    ),
  )
  expect([...new Set(taken)].sort()).toEqual([LOCKS.journalPartitions, LOCKS.deliveryPartitions])
})
