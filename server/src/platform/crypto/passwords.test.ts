/** Tests password hashes: their format, their concurrency, and when they are outdated. */
import { hash } from '@node-rs/argon2'
import { describe, expect, test, vi } from 'vitest'
import { systemTime } from '../../lib/time.ts'
import { hashesAtOnce, openPasswords } from './passwords.ts'

vi.mock('@node-rs/argon2', { spy: true })

const COST = { memoryCost: 64, timeCost: 1, parallelism: 1 }

describe('a password hash', () => {
  test('uses argon2id at the configured cost, with a unique salt', async () => {
    const passwords = await openPasswords(
      { memoryCost: 128, timeCost: 2, parallelism: 1 },
      2,
      systemTime,
    )
    const [one, two] = [
      await passwords.hash('secret-Horse', 'somebody'),
      await passwords.hash('secret-Horse', 'somebody'),
    ]
    expect(one).toMatch(/^\$argon2id\$v=19\$m=128,t=2,p=1\$/)
    expect(two).not.toBe(one)
  })

  test('matches its password and no other', async () => {
    const passwords = await openPasswords(COST, 2, systemTime)
    const stored = await passwords.hash('secret-Horse', 'somebody')
    expect(await passwords.verify(stored, 'secret-Horse', 'somebody')).toBe(true)
    for (const other of ['secret-horse', 'secret-Horse ', '', 'x'.repeat(1000)])
      expect(await passwords.verify(stored, other, 'somebody')).toBe(false)
  })

  test.each([
    ['composed and decomposed letters', 'Ångström', 'Ångström'.normalize('NFD')],
    ['ligatures', 'eﬃcient', 'efficient'],
    ['full-width letters', 'ＰＡＳＳword', 'PASSword'],
  ])('matches the same password with %s', async (_, stored, typed) => {
    const passwords = await openPasswords(COST, 2, systemTime)
    expect(
      await passwords.verify(await passwords.hash(stored, 'somebody'), typed, 'somebody'),
    ).toBe(true)
    expect(
      await passwords.verify(await passwords.hash(typed, 'somebody'), stored, 'somebody'),
    ).toBe(true)
  })

  test('never matches if the account does not exist', async () => {
    const passwords = await openPasswords(COST, 2, systemTime)
    for (const typed of ['', 'secret-Horse'])
      expect(await passwords.verify(null, typed, 'somebody')).toBe(false)
  })
})

describe('verifying a password', () => {
  const today = { ...COST, memoryCost: 128, timeCost: 6 }

  test.each([
    ['at the current cost', today, 0],
    ['with fewer passes', { ...today, timeCost: 2 }, 4],
    ['with less memory', { ...today, memoryCost: 64 }, 3],
    ['at a higher cost', { ...today, timeCost: 7 }, 0],
  ])(
    'adds the passes that a cheaper hash saves, if the hash was created %s',
    async (_, then, passes) => {
      const stored = await (await openPasswords(then, 1, systemTime)).hash(
        'secret-Horse',
        'somebody',
      )
      const passwords = await openPasswords(today, 1, systemTime)
      vi.mocked(hash).mockClear()
      expect(await passwords.verify(stored, 'secret-Horse', 'somebody')).toBe(true)
      expect(await passwords.verify(stored, 'another-Horse', 'somebody')).toBe(false)
      const more = { ...today, timeCost: passes }
      const wanted =
        passes > 0
          ? [
              ['secret-Horse', more],
              ['another-Horse', more],
            ]
          : []
      expect(vi.mocked(hash).mock.calls).toEqual(wanted)
    },
  )
})

describe('the check whether a hash is outdated', () => {
  test.each([
    ['the same cost', COST, false],
    ['more memory', { ...COST, memoryCost: 128 }, true],
    ['more passes', { ...COST, timeCost: 2 }, true],
    ['less of both', { ...COST, memoryCost: 32, timeCost: 1 }, false],
  ])(
    'compares a stored hash with a current cost that has %s: %j -> %s',
    async (_, today, outdated) => {
      const stored = await (await openPasswords({ ...COST, timeCost: 1 }, 1, systemTime)).hash(
        'secret-Horse',
        'somebody',
      )
      expect((await openPasswords(today, 1, systemTime)).isOutdated(stored)).toBe(outdated)
    },
  )
})

describe('the limit of concurrent password hashes', () => {
  const alone = { waitingOfOne: 0 }

  test('applies to verifying and hashing together, even for a missing account', async () => {
    const passwords = await openPasswords(COST, 1, systemTime, alone)
    for (const first of [
      () => passwords.hash('secret-Horse', 'one'),
      () => passwords.verify(null, 'secret-Horse', 'one'),
    ]) {
      const ended = await Promise.allSettled([
        first(),
        passwords.verify(null, 'secret-Horse', 'other'),
      ])
      expect(ended).toMatchObject([
        { status: 'fulfilled' },
        { status: 'rejected', reason: { code: 'overloaded', status: 503, retryAfter: 2 } },
      ])
    }
  })

  test('counts a failed verification as ended', async () => {
    const passwords = await openPasswords(COST, 1, systemTime, alone)
    for (let times = 0; times < 3; times += 1)
      await expect(passwords.verify('no hash at all', 'secret-Horse', 'one')).rejects.toThrow()
    expect(await passwords.verify(null, 'secret-Horse', 'one')).toBe(false)
  })

  test.each([
    [1, 4, 1],
    [2, 4, 2],
    [4, 4, 3],
    [16, 4, 3],
    [16, 17, 16],
    [8, 1, 1],
  ])('for %i processors and %i threads is %i', (processors, threads, atOnce) => {
    expect(hashesAtOnce(processors, threads)).toBe(atOnce)
  })
})

test('password hashing treats all networks of one customer as a single group in the queue', async () => {
  const passwords = await openPasswords(COST, 1, systemTime)
  const order: string[] = []
  const check = async (party: string) => {
    await passwords.verify(null, 'secret-Horse', party)
    order.push(party)
  }
  await Promise.all(
    ['first', '2001:db8:1:1::/64', '2001:db8:1:2::/64', '2001:db8:2:1::/64'].map(check),
  )
  expect(order.slice(2)).toEqual(['2001:db8:2:1::/64', '2001:db8:1:2::/64'])
})
