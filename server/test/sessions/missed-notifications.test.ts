/** Sessions on another node while every notification is lost. */
import { expect, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { eventually, newColleague, standing } from './users.ts'

test('a node without change notifications refuses a user within a second after another node blocked the user', async () => {
  const here = await openService()
  const { database } = here
  const there = await openService({ database })
  const clinic = await makeClinic(here, await superadmin(here), 'north')
  await database.sql('revoke execute on function pg_notify from public')
  const { token } = clinic.people.admin
  for (const path of ['block', 'sessions']) {
    const person = await newColleague(here, clinic)
    expect(await standing(there, person.token)).toBe(200)
    const target = `/api/admin/users/${person.id}/${path}`
    const answer = await here.call(path === 'block' ? 'POST' : 'DELETE', target, { token })
    const answered = performance.now()
    expect(answer.status).toBeLessThan(300)
    await eventually(
      () => standing(there, person.token),
      (status) => status === 401,
    )
    expect(performance.now() - answered).toBeLessThan(1_000)
  }
})
