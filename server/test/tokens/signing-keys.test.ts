/** The signing keys of access tokens are published, rotated without ending sessions, and encrypted at rest. */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { purgeAccounts } from '../../src/features/auth/auth.jobs.ts'
import { openSigningKeys } from '../../src/features/auth/tokens/signing-keys.service.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import type { Changes, Scopes } from '../../src/platform/db/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { unheard } from '../sessions/scopes.ts'
import { eventually, refresh, standing } from '../sessions/users.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { partsOf, serviceKey, signed } from './forge.ts'

let service: Service
let other: Service
let root: Person

beforeEach(async () => {
  service = await openService()
  other = await openService({ database: service.database })
  root = await superadmin(service)
})

// Closes the nodes of each test, because the nodes of all tests together would exceed the server's connection limit.
afterEach(async () => {
  await Promise.all([service.close(), other.close()])
})

const keysOf = async (node: Service): Promise<JSONWebKeySet> =>
  (await node.call('GET', '/.well-known/jwks.json')).body
const openWith = (rootKey: Buffer) =>
  openSigningKeys(service.app.db, unheard, openSealer(rootKey), service.clock, silentLog)
const rotate = (node: Service) => node.app.features.auth.keys.rotate()
const kidOf = (token: string) => String(partsOf(token).header.kid)

describe('the published signing keys', () => {
  test('let anyone verify a genuine token, and no forged one', async () => {
    const keys = createLocalJWKSet(await keysOf(service))
    const { payload, protectedHeader } = await jwtVerify(root.token, keys, {
      issuer: 'http://wardkeep.test',
      typ: 'at+jwt',
      algorithms: ['EdDSA'],
    })
    expect(payload).toMatchObject({ sub: String(root.id), tid: root.tenant_id, role: 'superadmin' })
    expect(protectedHeader.kid).toBe((await keysOf(service)).keys[0]?.kid)
    await expect(jwtVerify(`${root.token.slice(0, -4)}AAAA`, keys)).rejects.toThrow()
  })

  test('contain no private part', async () => {
    await rotate(service)
    const { keys } = await keysOf(service)
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
      expect(key).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' })
    }
  })
})

describe('a new signing key', () => {
  test('signs nobody out, on its own node or any other', async () => {
    const before = [root, await superadmin(other)]
    await rotate(service)
    for (const node of [service, other])
      for (const { token } of before) expect(await standing(node, token)).toBe(200)
    const after = await superadmin(service)
    expect(kidOf(after.token)).not.toBe(kidOf(root.token))
    const heard = () => other.app.features.auth.keys.signer().kid
    await eventually(heard, (kid) => kid === kidOf(after.token))
    expect(await standing(other, after.token)).toBe(200)
    expect(await refresh(other, root.refresh)).toMatchObject({ status: 200 })
  })

  test('is soon used by the other nodes too', async () => {
    await rotate(service)
    const { kid } = service.app.features.auth.keys.signer()
    await eventually(
      () => other.app.features.auth.keys.signer().kid,
      (theirs) => theirs === kid,
    )
    expect(kidOf((await superadmin(other)).token)).toBe(kid)
  })

  test('is created only once if two nodes request one concurrently', async () => {
    await Promise.all([rotate(service), rotate(other)])
    const rows = await service.database.sql('select 1 from signing_keys where retired_at is null')
    expect(rows).toHaveLength(1)
    expect(await standing(other, (await superadmin(service)).token)).toBe(200)
    expect(await standing(service, (await superadmin(other)).token)).toBe(200)
  })

  test('is created when the previous key is old enough, not before', async () => {
    const { keys } = service.app.features.auth
    const first = keys.signer().kid
    await keys.rotateWhenOlder(HOUR)
    expect(keys.signer().kid).toBe(first)
    service.clock.advance(HOUR + SECOND)
    await keys.rotateWhenOlder(HOUR)
    expect(keys.signer().kid).not.toBe(first)
  })

  test('is created only once if two nodes rotate before either of them is notified', async () => {
    const deaf = await openWith(ROOT_KEY)
    service.clock.advance(HOUR + SECOND)
    await service.app.features.auth.keys.rotateWhenOlder(HOUR)
    await deaf.rotateWhenOlder(HOUR)
    const rows = await service.database.sql('select 1 from signing_keys')
    expect(rows).toHaveLength(2)
    expect(deaf.signer().kid).toBe(service.app.features.auth.keys.signer().kid)
  })

  test('does not stop startup if it cannot be created, and the previous key continues to sign', async () => {
    await service.database.sql(`update signing_keys set created_at = now() - interval '10 years'`)
    await service.database.sql(`
      create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'not now'; end $$;
      create trigger refuse before update on signing_keys execute function refuse()`)
    const late = await openService({ database: service.database })
    expect(late.logged).toContainEqual([
      'warn',
      { err: expect.objectContaining({ message: 'not now' }) },
      'signing key rotation failed',
    ])
    expect(kidOf((await superadmin(late)).token)).toBe(kidOf(root.token))
    await late.close()
  })

  test('is journaled without any part of the key', async () => {
    await rotate(service)
    const rows = await service.database.sql<{ resource_id: string; changes: unknown }>(
      `select resource_id, changes from journal where action = 'auth.key_rotated' order by id`,
    )
    expect(rows.at(-1)).toEqual({
      resource_id: service.app.features.auth.keys.signer().kid,
      changes: null,
    })
  })
})

describe('a retired signing key', () => {
  test('verifies its tokens until the last one has expired, and not later', async () => {
    const retired = kidOf(root.token)
    const key = await serviceKey(service)
    await rotate(service)
    const lasting = () => {
      const { header, claims } = partsOf(root.token)
      // Uses a new token for each request, so that no token is cached.
      const iat = Math.floor(service.clock.now() / SECOND)
      return signed(header, { ...claims, iat, exp: iat + 60 * 60 }, key)
    }
    service.clock.advance(15 * MINUTE)
    expect(await standing(service, lasting())).toBe(200)
    service.clock.advance(2 * HOUR)
    expect(await standing(service, lasting())).toBe(401)
    const published = (await keysOf(service)).keys.map(({ kid }) => kid)
    expect(published).toEqual([service.app.features.auth.keys.signer().kid])
    expect(published).not.toContain(retired)
  })

  test('is deleted from the database after a day', async () => {
    const retired = kidOf(root.token)
    await rotate(service)
    const rest = new AbortController().signal
    service.clock.advance(23 * HOUR)
    await purgeAccounts(service.app.db, service.clock, rest)
    const kids = async () => {
      const rows = await service.database.sql<{ kid: string }>('select kid from signing_keys')
      return rows.map(({ kid }) => kid)
    }
    expect(await kids()).toContain(retired)
    service.clock.advance(2 * HOUR)
    await purgeAccounts(service.app.db, service.clock, rest)
    expect(await kids()).toEqual([service.app.features.auth.keys.signer().kid])
  })
})

test('the newer of two concurrent reads of the signing keys is used, in either order of completion', async () => {
  const held: (() => void)[] = []
  let isHeld = false
  const db: Scopes = {
    ...service.app.db,
    async acrossTenants(work, mode) {
      const answer = await service.app.db.acrossTenants(work, mode)
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
      return answer
    },
  }
  let hear: (topic: string) => void = () => undefined
  const changes = { ...unheard, subscribe: (listener: typeof hear) => (hear = listener) }
  const keys = await openSigningKeys(
    db,
    changes as Changes,
    openSealer(ROOT_KEY),
    service.clock,
    silentLog,
  )
  const before = keys.signer().kid
  isHeld = true
  // The older read returns the rows from before the rotation, and the newer read those from after it.
  hear('keys')
  await eventually(
    () => held.length,
    (count) => count === 1,
  )
  await rotate(other)
  hear('keys')
  await service.app.db.ping()
  await service.app.db.ping()
  isHeld = false
  for (const answer of held.toReversed()) {
    answer()
    await service.app.db.ping()
  }
  await eventually(
    () => keys.signer().kid,
    (kid) => kid !== before,
  )
  await service.app.db.ping()
  expect(keys.signer().kid).toBe(other.app.features.auth.keys.signer().kid)
})

test('a node repeats a failed read of the signing keys in its hourly run, even without a rotation', async () => {
  const refusal = new Error('the database is away')
  let isAway = false
  const db: Scopes = {
    ...service.app.db,
    acrossTenants: (work, mode) =>
      isAway ? Promise.reject(refusal) : service.app.db.acrossTenants(work, mode),
  }
  let hear: (topic: string) => void = () => undefined
  const changes = { ...unheard, subscribe: (listener: typeof hear) => (hear = listener) }
  const failed: unknown[] = []
  const log = { warn: ({ err }: { err: unknown }) => failed.push(err) }
  const keys = await openSigningKeys(
    db,
    changes as Changes,
    openSealer(ROOT_KEY),
    service.clock,
    log as unknown as Logger,
  )
  await rotate(other)
  isAway = true
  hear('keys')
  await eventually(
    () => failed,
    ([error]) => error === refusal,
  )
  isAway = false
  await keys.rotateWhenOlder(DAY)
  expect(keys.signer().kid).toBe(other.app.features.auth.keys.signer().kid)
})

describe('the private signing key', () => {
  test('is encrypted in the database', async () => {
    const [row] = await service.database.sql<{ sealed_private_key: Buffer; public_jwk: object }>(
      'select sealed_private_key, public_jwk from signing_keys',
    )
    const pem = (await serviceKey(service)).export({ format: 'der', type: 'pkcs8' })
    expect(row?.sealed_private_key.includes(pem.subarray(-32))).toBe(false)
    expect(row?.sealed_private_key.includes('PRIVATE KEY')).toBe(false)
    expect(Object.keys(row?.public_jwk ?? {})).not.toContain('d')
  })

  test('decrypts only with the root key', async () => {
    const opened = await openWith(ROOT_KEY)
    expect(opened.signer().kid).toBe(kidOf(root.token))
    await expect(openWith(Buffer.alloc(32, 8))).rejects.toThrow(/encrypted with another key/)
  })

  test('does not decrypt in the row of another key', async () => {
    await rotate(service)
    await service.database.sql(
      `update signing_keys a set sealed_private_key = b.sealed_private_key
       from signing_keys b where a.retired_at is null and b.retired_at is not null`,
    )
    await expect(openWith(ROOT_KEY)).rejects.toThrow()
  })
})
