/**
 * A healthy service is left alone: scans one behind the other beside requests, another node that opens and
 * goes, and connections that are cut propose nothing. `npm run chaos` scans for a minute.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

const SCANS = inject('chaos') === 'full' ? 60 : 15
const PAUSE_MS = inject('chaos') === 'full' ? 1000 : 0

/** Signs people in and out, makes departments and deletes them, until told to stop. Answers how often. */
async function load(service: Service, isOver: () => boolean): Promise<number> {
  const clinic = await makeClinic(
    service,
    await superadmin(service),
    `loaded-${crypto.randomUUID()}`,
  )
  const { email, password, token } = clinic.people.admin
  let rounds = 0
  while (!isOver()) {
    const credentials = { email, password, subdomain: clinic.subdomain }
    const head_doctor_id = clinic.people.doctor.id
    const body = { name: `Ward ${rounds}`, head_doctor_id }
    const [signedIn, made] = await Promise.all([
      service.call('POST', '/api/auth/login', { body: credentials }),
      service.call('POST', '/api/admin/departments', { token, body }),
    ])
    expect([signedIn.status, made.status]).toEqual([200, 201])
    const [signedOut, deleted] = await Promise.all([
      service.call('POST', '/api/auth/logout', { token: signedIn.body.access_token, body: {} }),
      service.call('DELETE', `/api/admin/departments/${made.body.id}`, { token }),
    ])
    expect([signedOut.status, deleted.status]).toEqual([200, 204])
    rounds += 1
  }
  return rounds
}

/** Scans, and finds nothing. Every few scans a node opens and goes, and the listener is cut off. */
async function scans(service: Service): Promise<void> {
  const { database } = service
  for (let count = 1; count <= SCANS; count += 1) {
    const opening = count % 5 === 0 ? openService({ database, role: 'worker' }) : undefined
    if (count % 5 === 1)
      await database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and query ilike '%listen%' and pid <> pg_backend_pid()`,
      )
    const scanned = await service.app.features.selfHealing.scan()
    expect(scanned?.fixes.filter((fix) => fix.occurrences > 0 || fix.unknown !== null)).toEqual([])
    await (await opening)?.close()
    if (PAUSE_MS > 0) await delay(PAUSE_MS)
  }
}

test('scans beside load, a second node and cut connections propose nothing', {
  timeout: 180_000,
}, async () => {
  const service = await openService({ config: { SELF_HEALING: 'auto' } })
  let isOver = false
  const scanning = scans(service).finally(() => {
    isOver = true
  })
  const [rounds] = await Promise.all([load(service, () => isOver), scanning])
  expect(rounds).toBeGreaterThan(0)
  expect(
    await service.database.sql("select action from journal where action like 'self\\_healing.%'"),
  ).toEqual([])
})
