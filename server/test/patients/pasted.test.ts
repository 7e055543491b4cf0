/** Numbers and names as people paste them: what clings to them is not kept. */
import { expect, it } from 'vitest'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

it('keeps numbers without direction marks, and lines without the quotes around them', async () => {
  const scene = await openPatientScene(await openService())
  const patient = await scene.patient({
    full_name: '“Paula Patient”',
    phone: '\u202a+43 660 1234567\u202c',
    identifiers: [{ system: '\u200emrn', value: '"A-17"\u200f' }],
  })
  expect(patient).toMatchObject({
    full_name: 'Paula Patient',
    phone: '+43 660 1234567',
    identifiers: [{ system: 'mrn', value: 'A-17' }],
  })
  expect((await scene.patient({ full_name: 'Paula "Pau" Patient' })).full_name).toBe(
    'Paula "Pau" Patient',
  )
})

it('refuses a number of nothing but marks and quotes', async () => {
  const scene = await openPatientScene(await openService())
  const { status, body } = await scene.as('admin')('POST', '/api/patients', {
    full_name: 'Paula',
    phone: '\u202a""\u202c',
  })
  expect(status).toBe(422)
  expect(body.detail).toMatchObject([{ loc: ['body', 'phone'], type: 'string_too_short' }])
})
