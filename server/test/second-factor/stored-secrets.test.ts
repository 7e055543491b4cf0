/** The stored second factor. The contents of the database alone are not enough to sign in. */
import { Secret } from 'otpauth'
import { beforeAll, expect, test } from 'vitest'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { unheard } from '../sessions/scopes.ts'
import { newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { everythingIn } from '../support/database-contents.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { type Enrolled, enrol, offered } from './enrol.ts'

let service: Service
let clinic: Clinic
let other: Clinic
let person: Person
let factor: Enrolled
let pending: string

beforeAll(async () => {
  service = await openService()
  const root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  other = await makeClinic(service, root, 'south')
  person = await newColleague(service, clinic)
  factor = await enrol(service, person.token)
  pending = await offered(service, clinic.people.nurse.token)
})

const placeOf = (row: number) => ({ table: 'second_factors', column: 'sealed_secret', row })
const bytesOf = (secret: string) => Buffer.from(Secret.fromBase32(secret).bytes)

async function sealed(): Promise<Buffer> {
  const [row] = await service.database.sql<{ sealed_secret: Buffer }>(
    'select sealed_secret from second_factors where user_id = $1',
    [person.id],
  )
  if (!row) throw new Error('there is no factor')
  return row.sealed_secret
}

test('no table contains an unencrypted second-factor secret, a recovery code or its plain hash', async () => {
  const text = (await everythingIn(service.database)).toLowerCase()
  expect(text).toContain(person.email)
  for (const secret of [factor.secret, pending]) {
    expect(text).not.toContain(secret.toLowerCase())
    expect(text).not.toContain(bytesOf(secret).toString('hex'))
    expect(text).not.toContain(bytesOf(secret).toString('base64').toLowerCase())
  }
  for (const code of factor.recovery)
    for (const spelling of [code, code.replaceAll('-', '')]) {
      expect(text).not.toContain(spelling)
      expect(text).not.toContain(Buffer.from(spelling).toString('hex'))
    }
})

test('the log contains no second-factor secret and no recovery code', () => {
  const text = JSON.stringify(service.logged).toLowerCase()
  for (const secret of [factor.secret, pending, ...factor.recovery])
    expect(text).not.toContain(secret.toLowerCase())
})

test('the stored secret decrypts only with the root key, for its tenant and its user', async () => {
  const { db } = service.app
  const ring = await openKeyRing(db, openSealer(ROOT_KEY), unheard)
  const bytes = await sealed()
  const open = (tenantId: number, userId: number) =>
    db.acrossTenants(async (tx) => (await ring.ofTenant(tx, tenantId)).open(bytes, placeOf(userId)))
  expect(await open(clinic.id, person.id)).toEqual(bytesOf(factor.secret))
  await expect(open(clinic.id, person.id + 1)).rejects.toThrow()
  await expect(open(other.id, person.id)).rejects.toThrow()
})

test('another root key does not decrypt the key ring, and therefore no stored secret', async () => {
  const stranger = openSealer(Buffer.alloc(32, 8))
  await expect(openKeyRing(service.app.db, stranger, unheard)).rejects.toThrow(
    /encrypted with another key/,
  )
})

test('a stored secret copied to another user does not let that user sign in', async () => {
  const thief = await newColleague(service, clinic)
  await enrol(service, thief.token)
  await service.database.sql('update second_factors set sealed_secret = $1 where user_id = $2', [
    await sealed(),
    thief.id,
  ])
  const take = service.app.db.inTenant(clinic.id, (tx) =>
    service.app.features.auth.secondFactor.verifyCode(tx, thief.id, '123456'),
  )
  await expect(take).rejects.toThrow()
})
