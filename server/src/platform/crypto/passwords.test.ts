/** Hashes of passwords: what they are, how many at once, and when they are out of date. */
import { describe, expect, test } from 'vitest'
import { Problem } from '../../lib/problems.ts'
import { openPasswords } from './passwords.ts'

const COST = { memoryCost: 64, timeCost: 1, parallelism: 1 }

describe('a hash', () => {
  test('is argon2id at the cost that is set, with a salt of its own', async () => {
    const passwords = await openPasswords({ memoryCost: 128, timeCost: 2, parallelism: 1 }, 2, 10)
    const [one, two] = [await passwords.hash('secret-Horse'), await passwords.hash('secret-Horse')]
    expect(one).toMatch(/^\$argon2id\$v=19\$m=128,t=2,p=1\$/)
    expect(two).not.toBe(one)
  })

  test('is that of its password and of no other', async () => {
    const passwords = await openPasswords(COST, 2, 10)
    const stored = await passwords.hash('secret-Horse')
    expect(await passwords.verify(stored, 'secret-Horse')).toBe(true)
    for (const other of ['secret-horse', 'secret-Horse ', '', 'x'.repeat(1000)])
      expect(await passwords.verify(stored, other)).toBe(false)
  })

  test.each([
    ['composed and decomposed letters', 'Ångström', 'Ångström'.normalize('NFD')],
    ['ligatures', 'eﬃcient', 'efficient'],
    ['full-width letters', 'ＰＡＳＳword', 'PASSword'],
  ])('is the same for %s', async (_, stored, typed) => {
    const passwords = await openPasswords(COST, 2, 10)
    expect(await passwords.verify(await passwords.hash(stored), typed)).toBe(true)
    expect(await passwords.verify(await passwords.hash(typed), stored)).toBe(true)
  })

  test('of nobody is never right', async () => {
    const passwords = await openPasswords(COST, 2, 10)
    for (const typed of ['', 'secret-Horse'])
      expect(await passwords.verify(null, typed)).toBe(false)
  })
})

describe('a hash is out of date', () => {
  test.each([
    ['the same cost', COST, false],
    ['more memory', { ...COST, memoryCost: 128 }, true],
    ['more passes', { ...COST, timeCost: 2 }, true],
    ['less of both', { ...COST, memoryCost: 32, timeCost: 1 }, false],
  ])('when today asks for %s: %j -> %s', async (_, today, outdated) => {
    const stored = await (await openPasswords({ ...COST, timeCost: 1 }, 1, 0)).hash('secret-Horse')
    expect((await openPasswords(today, 1, 0)).isOutdated(stored)).toBe(outdated)
  })
})

describe('at once', () => {
  const outcomes = (work: Promise<unknown>[]) =>
    Promise.all(
      work.map((one) =>
        one.then(
          () => 'done',
          (error: unknown) => (error instanceof Problem ? error : String(error)),
        ),
      ),
    )

  test('are as many as may run and wait; the rest are told to come later', async () => {
    const passwords = await openPasswords(COST, 2, 3)
    const ended = await outcomes(Array.from({ length: 8 }, () => passwords.hash('secret-Horse')))
    expect(ended.slice(0, 5)).toEqual(['done', 'done', 'done', 'done', 'done'])
    for (const refused of ended.slice(5))
      expect(refused).toMatchObject({ code: 'overloaded', status: 503, retryAfter: 2 })
    expect(ended).toHaveLength(8)
  })

  test('checks and hashes share the turns, and a check of nobody takes one too', async () => {
    const passwords = await openPasswords(COST, 1, 0)
    for (const first of [
      () => passwords.hash('secret-Horse'),
      () => passwords.verify(null, 'secret-Horse'),
    ]) {
      const ended = await outcomes([first(), passwords.verify(null, 'secret-Horse')])
      expect(ended).toEqual(['done', expect.objectContaining({ code: 'overloaded' })])
    }
  })

  test('a turn is free again after a failure', async () => {
    const passwords = await openPasswords(COST, 1, 0)
    for (let times = 0; times < 3; times += 1)
      await expect(passwords.verify('no hash at all', 'secret-Horse')).rejects.toThrow()
    expect(await passwords.verify(null, 'secret-Horse')).toBe(false)
  })

  test('those who wait come in the order that they came', async () => {
    const passwords = await openPasswords(COST, 1, 20)
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        await passwords.hash('secret-Horse')
        order.push(index)
      }),
    )
    expect(order).toEqual(Array.from({ length: 12 }, (_, index) => index))
  })
})
