/** The limit of fifty webhooks per tenant also applies to concurrent registrations. */
import { expect, test } from 'vitest'
import { atOnce, tally } from '../races/race.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { clinicOn, openClinic } from './clinic.ts'

test('fifty of sixty concurrent webhook registrations on two nodes succeed', async () => {
  const at = await openClinic()
  const { service, clinic } = at
  const other = await openService({ database: service.database })
  const nodes = [at, clinicOn(other, clinic)]
  const body = { url: 'http://127.0.0.1:9/hook', events: ['*'] }
  const answers = await atOnce(
    (index) => (nodes[index % 2] ?? at).call('POST', '/register', { body }),
    60,
  )
  expect(tally(answers)).toEqual({ 201: 50, 409: 10 })
  for (const { status, body } of answers)
    if (status === 409) expect(body.code).toBe('too_many_webhooks')
  expect((await at.call('GET')).body).toHaveLength(50)
  const entries = await service.database.sql(
    "select 1 from journal where action = 'webhook.registered'",
  )
  expect(entries).toHaveLength(50)

  // Another tenant has its own limit. Deleting a webhook makes room for another registration.
  const south = clinicOn(service, await makeClinic(service, await superadmin(service), 'south'))
  await south.register()
  await at.call('DELETE', `/${answers.find(({ status }) => status === 201)?.body.id}`)
  await at.register()
  expect(await at.call('POST', '/register', { body })).toMatchObject({ status: 409 })
})
