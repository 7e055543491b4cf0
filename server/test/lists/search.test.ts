/** Search by exact name, in any letter case and Unicode composition. */
import { beforeAll, describe, expect, test } from 'vitest'
import { fresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let clinic: Clinic
beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const call = (method: string, path: string, more: object) =>
  service.call(method, path, { token: clinic.people.admin.token, ...more })

const NAMES = [
  ['a final sigma', 'ΓΙΩΡΓΟΣ ΠΑΠΑΔΟΠΟΥΛΟΣ', 'ΠΑΠΑΔΟΠΟΥΛΟΣ'],
  ['a dotted capital I', 'İpek İstanbul', 'İSTANBUL'],
  ['composed letters', 'Pédiatrie', 'PÉDI'],
  ['decomposed letters', 'Ge\u0301riatrie', 'GÉRI'],
  ['composed letters by a decomposed search text', 'Zoé', 'ZOE\u0301'],
  ['wildcards', '100%_\\ sure', '%_\\'],
] as const

describe.each([
  ['/api/admin/departments', 'name', {}],
  ['/api/admin/users', 'full_name', { role: 'nurse', password: PASSWORD }],
] as const)('the search of %s', (path, field, others) => {
  test.each(NAMES)('finds a name with %s', async (_, name, part) => {
    const email = `${fresh('named')}@north.test`
    const made = await call('POST', path, {
      body: { ...others, ...(field === 'full_name' ? { email } : {}), [field]: name },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect(made.body[field]).toBe(name.normalize('NFC'))
    for (const search of [name, part]) {
      const { body } = await call('GET', path, { query: { search } })
      expect(body.items.map(({ id }: { id: number }) => id)).toEqual([made.body.id])
    }
  })
})

test('a department is rejected if its name looks like the name of another one', async () => {
  const make = (name: string) => call('POST', '/api/admin/departments', { body: { name } })
  expect((await make('Réanimation')).status).toBe(201)
  expect(await make('Re\u0301animation')).toMatchObject({
    status: 409,
    body: { code: 'department_name_taken' },
  })
})
