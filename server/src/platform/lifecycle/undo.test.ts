/** Tests that a failed startup releases what it acquired, in reverse order, even if a release fails. */
import { describe, expect, test } from 'vitest'
import type { Logger } from '../observe/log.ts'
import { closerOf, endTogether } from './undo.ts'

const STEPS = ['first', 'second', 'third', 'fourth'] as const

function recordedLog() {
  const logged: unknown[][] = []
  const log = { warn: (...line: unknown[]) => void logged.push(line) } as unknown as Logger
  return { log, logged }
}

/** Runs a startup of four steps, one of which fails. Records the steps that are undone. */
async function started(failing: number, broken: readonly string[] = []) {
  const { log, logged } = recordedLog()
  const closed: string[] = []
  const start = async () => {
    await using undo = new AsyncDisposableStack()
    const onClose = closerOf(undo, log)
    for (const [index, step] of STEPS.entries()) {
      if (index === failing) throw new Error(`${step} fails`)
      onClose(step, async () => {
        await Promise.resolve()
        closed.push(step)
        if (broken.includes(step)) throw new Error(`${step} stays`)
      })
    }
    return undo.move()
  }
  const result = await start().catch((error: Error) => error)
  return { result, closed, logged }
}

describe('the steps of a startup', () => {
  test.each(STEPS.map((step, index) => [step, index] as const))(
    'are undone in reverse order when the %s step fails',
    async (step, index) => {
      const { result, closed, logged } = await started(index)
      expect(result).toMatchObject({ message: `${step} fails` })
      expect(closed).toEqual(STEPS.slice(0, index).toReversed())
      expect(logged).toEqual([])
    },
  )

  test('are undone even if undoing one of them fails, and the original error is reported', async () => {
    const { result, closed, logged } = await started(3, ['third', 'first'])
    expect(result).toMatchObject({ message: 'fourth fails' })
    expect(result).not.toHaveProperty('suppressed')
    expect(closed).toEqual(['third', 'second', 'first'])
    expect(logged).toEqual([
      [{ err: new Error('third stays') }, 'closing of third failed'],
      [{ err: new Error('first stays') }, 'closing of first failed'],
    ])
  })

  test('are undone only at shutdown if all of them succeed', async () => {
    const { result, closed } = await started(STEPS.length)
    expect(closed).toEqual([])
    await (result as AsyncDisposableStack).disposeAsync()
    expect(closed).toEqual(STEPS.toReversed())
  })
})

test('an undo step that throws is logged like an undo step that rejects', async () => {
  const { log, logged } = recordedLog()
  const undo = new AsyncDisposableStack()
  closerOf(undo, log)('a step', () => {
    throw new Error('at once')
  })
  await undo.disposeAsync()
  expect(logged).toEqual([[{ err: new Error('at once') }, 'closing of a step failed']])
})

test('concurrent shutdown steps start in order, and no step delays or fails another', async () => {
  const { log, logged } = recordedLog()
  const begun: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  await endTogether(
    [
      () => {
        begun.push('slow')
        return promise
      },
      () => {
        begun.push('broken')
        throw new Error('stays')
      },
      // Ends the slow step, so the test passes only if the slow step does not delay this step.
      () => {
        begun.push('last')
        resolve()
      },
    ],
    log,
  )
  expect(begun).toEqual(['slow', 'broken', 'last'])
  expect(logged).toEqual([[{ err: new Error('stays') }, 'a shutdown step failed']])
})
