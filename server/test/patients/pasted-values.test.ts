/** The service removes stray characters around pasted numbers and names. */
import { expect, it } from 'vitest'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

it('pasted numbers are stored without direction marks, and pasted lines without surrounding quotes', async () => {
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

it('a pasted number is rejected if it consists only of direction marks and quotes', async () => {
  const scene = await openPatientScene(await openService())
  const { status, body } = await scene.as('admin')('POST', '/api/patients', {
    full_name: 'Paula',
    phone: '\u202a""\u202c',
  })
  expect(status).toBe(422)
  expect(body.detail).toMatchObject([{ loc: ['body', 'phone'], type: 'string_too_short' }])
})
