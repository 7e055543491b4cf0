import { expect, test } from 'vitest'
import { silentLog } from '../../../test/support/server-address.ts'
import { logFailures } from './log-failures.ts'

const away = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
const broken = new Error('broken')

test.each([
  ['logs the first failure', broken, undefined, true],
  ['logs a failure after another one', broken, broken, true],
  ['logs the loss of the database', away, undefined, true],
  ['logs the loss of the database after another failure', away, broken, true],
  ['logs another failure after the loss of the database', broken, away, true],
  ['does not log a database that is still unreachable', away, away, false],
])('logFailures %s', (_what, error, previous, isTold) => {
  const logged: unknown[] = []
  const log = { ...silentLog, warn: (...line: unknown[]) => void logged.push(line) }
  logFailures('looking', log as typeof silentLog)(error, previous)
  expect(logged).toEqual(isTold ? [[{ err: error }, 'looking failed']] : [])
})
