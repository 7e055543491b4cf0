/** The error `identifier_taken` reveals that someone is a patient, so repeated guesses are throttled and journaled. */
import { expect, it } from 'vitest'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

it('guesses at the identifier of a patient whom the user cannot see are throttled and journaled', async () => {
  const service = await openService()
  const scene = await openPatientScene(service)
  const secret = 'A-4711'
  const identifiers = [{ system: 'mrn', value: secret }]
  await scene.patient({ department_id: scene.elsewhere, identifiers })
  const nurse = scene.as('nurse')
  const guess = (value: string) =>
    nurse('POST', '/api/patients', { full_name: 'Guess', identifiers: [{ system: 'mrn', value }] })
  const statuses: number[] = []
  for (let times = 0; times < 12; times += 1) statuses.push((await guess(secret)).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 409), 429, 429])
  // The throttling reveals nothing, because a free identifier gets the same response.
  expect((await guess('free')).status).toBe(429)
  // Other requests of the nurse are not throttled, and neither are other users.
  expect((await nurse('POST', '/api/patients', { full_name: 'Plain' })).status).toBe(201)
  expect(
    (
      await scene.as('doctor')('POST', '/api/patients', {
        full_name: 'Other',
        identifiers: [{ system: 'mrn', value: 'B-1' }],
      })
    ).status,
  ).toBe(201)

  const { body } = await scene.as('admin')('GET', '/api/admin/audit?action=access.refused')
  expect(body.items).toMatchObject([
    { user_id: scene.clinic.people.nurse.id, changes: { code: 'identifier_taken', count: 10 } },
  ])
  expect(JSON.stringify(body)).not.toContain('4711')
})

it('guesses made by changing a patient count like those made by creating one', async () => {
  const service = await openService()
  const scene = await openPatientScene(service)
  const taken = [{ system: 'mrn', value: 'C-1' }]
  await scene.patient({ department_id: scene.elsewhere, identifiers: taken })
  const nurse = scene.as('nurse')
  const { body: own } = await nurse('POST', '/api/patients', { full_name: 'Own' })
  const change = () => nurse('PUT', `/api/patients/${own.id}`, { identifiers: taken })
  const answers = await Promise.all(Array.from({ length: 20 }, change))
  expect(answers.map(({ status }) => status).sort()).toEqual([
    ...Array.from({ length: 10 }, () => 409),
    ...Array.from({ length: 10 }, () => 429),
  ])
})
