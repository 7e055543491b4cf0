/** Self-healing reports and deletes expired rows that the purge job should have deleted hours ago. */
import { beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts'
import type { Fix } from '../../src/platform/feature/fix.ts'
import { refresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { findings, fixOf, look, repair, scanAndConfirm } from '../support/self-healing-fixes.ts'
import { openService, type Service } from '../support/service.ts'
import { PROXIED } from './people.ts'

/** The service runs no background work, so the purge job does not delete the rows first. */
let service: Service
let expired: Fix
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ config: PROXIED })
  const { auth } = service.app.features
  expired = fixOf(auth.fixes ?? [], 'auth.expired')
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const rowsOf = async (table: string) => {
  const [row] = await service.database.sql<{ count: number }>(
    `select count(*)::int as count from ${table}`,
  )
  return row?.count ?? Number.NaN
}
const tablesFound = async (fix: Fix) =>
  (await findings(service.app.db, fix)).map(({ subject }) => subject)

const tokensFound = async () =>
  (await findings(service.app.db, expired)).filter(
    ({ measured }) => measured.table === 'refresh_tokens',
  )

test('the check for expired rows reports counters, links, tokens and sessions some hours after they expired', async () => {
  const wrong = { email: 'doctor@north.test', password: 'wrong-Horse-9', subdomain: 'north' }
  expect((await service.call('POST', '/api/auth/login', { body: wrong })).status).toBe(401)
  await service.database.sql(
    `insert into account_tokens (tenant_id, user_id, purpose, token_hash, email, expires_at)
     select tenant_id, id, 'reset_password', '\\x01', email, $1 from users
     where email = 'doctor@north.test'`,
    [new Date(service.clock.now() + DAY).toISOString()],
  )
  expect(await tablesFound(expired)).toEqual([])
  service.clock.advance(HOUR + 6 * HOUR - MINUTE)
  expect(await tablesFound(expired)).toEqual([])
  service.clock.advance(2 * MINUTE)
  expect(await tablesFound(expired)).toEqual(['table throttles'])
  service.clock.advance(DAY)
  const afterADay = await tablesFound(expired)
  expect(afterADay).toContain('table account_tokens')
  expect(afterADay).not.toContain('table sessions')
  // Only sessions of platform operators expire this soon.
  const [operators] = await tokensFound()
  expect(operators).toMatchObject({ measured: { table: 'refresh_tokens', rows: 1 } })
  if (operators) await repair(service.app.db, expired, operators)
  expect(await tokensFound()).toEqual([])
  for (const { refresh: token, role } of Object.values(clinic.people))
    expect((await refresh(service, token)).status, role).toBe(200)
  service.clock.advance(91 * DAY + 30 * DAY)
  const { findings: found, looked_at } = await look(service.app.db, expired)
  // No signing key has been retired, so none can have expired.
  const tables = ['refresh_tokens', 'sessions', 'account_tokens', 'throttles']
  expect(looked_at).toBe(tables.length + 1)
  expect(found).toEqual(
    await Promise.all(
      tables.map(async (table) => ({
        tenant_id: null,
        subject: `table ${table}`,
        measured: { table, rows: await rowsOf(table) },
        expected: { rows: 0 },
      })),
    ),
  )
  for (const finding of found) {
    const both = await Promise.all([1, 2].map(() => repair(service.app.db, expired, finding)))
    expect(both).toContain('repaired')
    expect(await rowsOf(String(finding.measured.table))).toBe(0)
    expect(await repair(service.app.db, expired, finding)).toBe('already gone')
  }
  expect(await tablesFound(expired)).toEqual([])
})

test('one repair of expired rows deletes more than one batch, and keeps rows that have not expired', async () => {
  const at = (ms: number) => new Date(service.clock.now() + ms).toISOString()
  await service.database.sql(
    `insert into throttles (key, failures, free_at, forget_at)
     select int4send(n), 1, $1::timestamptz, case when n > 2500 then $2::timestamptz else $1::timestamptz end
     from generate_series(1, 2503) n`,
    [at(-DAY), at(HOUR)],
  )
  const [finding] = await findings(service.app.db, expired)
  expect(finding).toMatchObject({ subject: 'table throttles', measured: { rows: 2500 } })
  await scanAndConfirm(service, 'auth.expired')
  // The operator's own sign-in adds no row to the table of throttles.
  expect(await rowsOf('throttles')).toBe(3)
})
