/** Looks that are made again and again, and lose no call. */
import { expect, onTestFinished, test } from 'vitest'
import { gate } from '../../../../test/sessions/scopes.ts'
import { until } from '../../../../test/support/embedded.ts'
import { silentLog } from '../../../../test/support/server-address.ts'
import { openLoop } from './loop.ts'

/** So rarely does it look by itself that no test lives to see it. */
const NEVER = 3_600_000

function looping(look: () => Promise<boolean>, pollMs = NEVER) {
  const loop = openLoop({ look, pollMs, what: 'looking', log: silentLog })
  onTestFinished(() => loop.stop())
  return loop
}

/** A loop that counts its looks, and has done the first. */
async function counting(pollMs = NEVER) {
  const looks = { count: 0 }
  const loop = looping(async () => {
    looks.count += 1
    return false
  }, pollMs)
  await until('the first look', () => looks.count > 0 || undefined)
  return { loop, looks }
}

test('a loop looks at its start, and then when it is woken', async () => {
  const { loop, looks } = await counting()
  loop.wake()
  await until('the second look', () => looks.count === 2 || undefined)
  loop.wake()
  await until('the third look', () => looks.count === 3 || undefined)
})

test('a loop looks by itself after a while', async () => {
  const { looks } = await counting(5)
  await until('several looks', () => looks.count > 4 || undefined)
})

test('a loop looks at once while there is more', async () => {
  let left = 5
  looping(async () => {
    left -= 1
    return left > 0
  })
  await until('all is done', () => left === 0 || undefined)
})

test('a call that comes during a look leads to another look', async () => {
  const first = gate()
  let looks = 0
  const loop = looping(async () => {
    looks += 1
    if (looks === 1) await first.pass
    return false
  })
  await until('the first look', () => looks === 1 || undefined)
  loop.wake()
  first.open()
  await until('the second look', () => looks === 2 || undefined)
})

test('a call that comes before the first look is not an error', async () => {
  let looks = 0
  const loop = looping(async () => {
    looks += 1
    return false
  })
  loop.wake()
  await until('a look', () => looks > 0 || undefined)
})

test('a look that fails is followed by others', async () => {
  let looks = 0
  const loop = looping(async () => {
    looks += 1
    throw new Error('not yet')
  })
  await until('the first look', () => looks === 1 || undefined)
  loop.wake()
  await until('the second look', () => looks === 2 || undefined)
})

test('a stop waits for the look that is under way, and no other follows', async () => {
  const first = gate()
  const seen: string[] = []
  const loop = looping(async () => {
    seen.push('begun')
    await first.pass
    seen.push('ended')
    return true
  })
  await until('the look', () => seen.length > 0 || undefined)
  const stopped = loop.stop().then(() => seen.push('stopped'))
  loop.wake()
  first.open()
  await stopped
  expect(seen).toEqual(['begun', 'ended', 'stopped'])
})

test('a stop ends the pause', async () => {
  const { loop, looks } = await counting()
  await loop.stop()
  expect(looks.count).toBe(1)
})
