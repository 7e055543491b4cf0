/** The last sign-in of a user is correct in every session, although a sign-in notifies no node. */
import { expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { makeClinic, signIn, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { newColleague } from './users.ts'

const lastLogin = async (node: Service, token: string) =>
  (await node.call('GET', '/api/users/me', { token })).body.last_login_at

test("other sessions show the user's last sign-in, immediately on the same node and soon on others", async () => {
  const here = await openService()
  const far = await openService({ database: here.database })
  const clinic = await makeClinic(here, await superadmin(here), 'north')
  const person = await newColleague(here, clinic)
  const before = await lastLogin(here, person.token)
  expect(await lastLogin(far, person.token)).toBe(before)
  here.clock.advance(60_000)
  await signIn(here, { ...person, subdomain: 'north' })
  const after = await lastLogin(here, person.token)
  expect(Date.parse(after)).toBeGreaterThanOrEqual(Date.parse(before) + 60_000)
  await until('the other node reads it', async () =>
    (await lastLogin(far, person.token)) === after ? true : undefined,
  )
})

test('a sign-in sends no notification to other nodes', async () => {
  const service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  const person = await newColleague(service, clinic)
  const changes = watchChanges(service.database.address, silentLog, systemTime)
  onTestFinished(() => changes.stop())
  const heard: (string | null)[] = []
  changes.subscribe((topic) => void heard.push(topic))
  await until('it listens', async () => changes.trusted() || undefined)
  await signIn(service, { ...person, subdomain: 'north' })
  // Notifications arrive in commit order, so an earlier notification would have arrived before this one.
  await service.call('POST', `/api/admin/users/${clinic.people.nurse.id}/block`, {
    token: clinic.people.admin.token,
  })
  const last = `user:${clinic.people.nurse.id}`
  await until('the block is heard of', async () => heard.includes(last) || undefined)
  expect(heard).not.toContain(`user:${person.id}`)
})
