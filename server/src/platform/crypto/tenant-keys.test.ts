/** Tests that each value decrypts with the key that it names, and that blind-index tokens match only equal texts. */
import { describe, expect, test } from 'vitest'
import { UnreadableError } from './seal.ts'
import { openDataKey, type TenantKeys, tenantKeys } from './tenant-keys.ts'

const PLACE = { table: 'patients', column: 'sealed_phone', row: 7 }
const KIND = 'patients.phone'

const dataKey = (id: number) => openDataKey(id, Buffer.alloc(32, id))

/** Returns the keys of a tenant. The first id becomes the current key. */
function keysOf(tenantId: number, ...ids: number[]): TenantKeys {
  const unknown = (id: number) => {
    throw new Error(`asked for ${id}`)
  }
  return tenantKeys(tenantId, ids.map(dataKey), ids[0] ?? 0, unknown)
}

const tokensOf = (keys: TenantKeys, kind = KIND, text = '0301234') =>
  keys.tokens(kind, text).map(({ token }) => token.toString('hex'))

describe('two active data keys of a tenant', () => {
  const before = keysOf(5, 3)
  const during = keysOf(5, 4, 3)
  const after = keysOf(5, 4)

  test('decrypt values of either key, while only the current one encrypts', () => {
    const old = before.seal('x', PLACE)
    const fresh = during.seal('x', PLACE)
    for (const sealed of [old, fresh]) expect(during.open(sealed, PLACE).toString()).toBe('x')
    expect(after.open(fresh, PLACE).toString()).toBe('x')
    expect(() => after.open(old, PLACE)).toThrow('data key 3 of tenant 5 is missing')
  })

  test('are selected by the key name in a value, and are not tried one after the other', () => {
    const sealed = before.seal('x', PLACE)
    sealed[8] = 4
    expect(() => during.open(sealed, PLACE)).toThrow(UnreadableError)
  })

  test('produce two search tokens, the token of the current key first', () => {
    expect(during.tokens(KIND, 'x').map(({ keyId }) => keyId)).toEqual([4, 3])
    expect(tokensOf(during)).toEqual([...tokensOf(after), ...tokensOf(before)])
  })
})

test('the key set of a tenant reloads the keys for a value of an unknown newer key, and rejects a value of an unknown older key', () => {
  const keys = keysOf(5, 4)
  expect(() => keys.open(keysOf(5, 9).seal('x', PLACE), PLACE)).toThrow('asked for 9')
  expect(() => keys.open(keysOf(5, 3).seal('x', PLACE), PLACE)).toThrow(UnreadableError)
})

test.each([
  ['nothing', ''],
  ['a format with no key', '02'],
  ['half a key', '0200000000'],
  ['an unknown format', '03'.padEnd(160, '0')],
  ['the id of a key without a format', '0000000000000004'.padEnd(160, '0')],
])('the key set of a tenant reports %s as unreadable', (_what, hex) => {
  expect(() => keysOf(5, 4).open(Buffer.from(hex, 'hex'), PLACE)).toThrow(UnreadableError)
})

test('the key set of a tenant neither creates search tokens nor encrypts for a tenant without a key', () => {
  const none = keysOf(5)
  expect(none.currentId).toBe(0)
  expect(none.tokens(KIND, 'x')).toEqual([])
  expect(() => none.seal('x', PLACE)).toThrow('no data key')
})

describe('a blind-index token', () => {
  const [token] = tokensOf(keysOf(5, 3))

  test('has 16 bytes, and is always the same for the same text', () => {
    expect(token).toMatch(/^[0-9a-f]{32}$/)
    expect(tokensOf(keysOf(5, 3))).toEqual([token])
  })

  test.each([
    ['tenant', keysOf(6, 3), KIND, '0301234'],
    ['kind', keysOf(5, 3), 'patients.email', '0301234'],
    ['key', keysOf(5, 4), KIND, '0301234'],
    ['text', keysOf(5, 3), KIND, '0301235'],
    ['border between kind and text', keysOf(5, 3), `${KIND}0`, '301234'],
  ])('differs for another %s', (_what, keys, kind, text) => {
    expect(tokensOf(keys, kind, text)).not.toEqual([token])
  })

  test('is derived from another key than encryption uses', () => {
    const sealed = keysOf(5, 3).seal('0301234', PLACE)
    expect(sealed.toString('hex')).not.toContain(token)
  })
})
