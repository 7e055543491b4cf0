import { expect, test } from 'vitest'
import { silentLog } from '../../../test/support/server-address.ts'
import { logFailures } from './log-failures.ts'

const away = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
const broken = new Error('broken')

test.each([
  ['the first failure', broken, undefined, true],
  ['a failure after another one', broken, broken, true],
  ['the loss of the database', away, undefined, true],
  ['the loss of the database after another failure', away, broken, true],
  ['another failure after its loss', broken, away, true],
  ['a database that is still away', away, away, false],
])('logs or suppresses %s: %#', (_what, error, previous, isTold) => {
  const logged: unknown[] = []
  const log = { ...silentLog, warn: (...line: unknown[]) => void logged.push(line) }
  logFailures('looking', log as typeof silentLog)(error, previous)
  expect(logged).toEqual(isTold ? [[{ err: error }, 'looking failed']] : [])
})
