/** A start that fails lets go of what it has taken, the last first, whatever fails at it. */
import { describe, expect, test } from 'vitest'
import type { Logger } from './observe/log.ts'
import { closerOf, endTogether } from './undo.ts'

const STEPS = ['first', 'second', 'third', 'fourth'] as const

function recordedLog() {
  const logged: unknown[][] = []
  const log = { warn: (...line: unknown[]) => void logged.push(line) } as unknown as Logger
  return { log, logged }
}

/** A start of four steps of which one fails, and what becomes of those before it. */
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

describe('a start', () => {
  test.each(STEPS.map((step, index) => [step, index] as const))(
    'that fails at its %s step undoes those before it, the last first',
    async (step, index) => {
      const { result, closed, logged } = await started(index)
      expect(result).toMatchObject({ message: `${step} fails` })
      expect(closed).toEqual(STEPS.slice(0, index).toReversed())
      expect(logged).toEqual([])
    },
  )

  test('keeps its cause and the other steps where undoing one fails', async () => {
    const { result, closed, logged } = await started(3, ['third', 'first'])
    expect(result).toMatchObject({ message: 'fourth fails' })
    expect(result).not.toHaveProperty('suppressed')
    expect(closed).toEqual(['third', 'second', 'first'])
    expect(logged).toEqual([
      [{ err: new Error('third stays') }, 'closing third failed'],
      [{ err: new Error('first stays') }, 'closing first failed'],
    ])
  })

  test('that is whole undoes nothing until it is told to', async () => {
    const { result, closed } = await started(STEPS.length)
    expect(closed).toEqual([])
    await (result as AsyncDisposableStack).disposeAsync()
    expect(closed).toEqual(STEPS.toReversed())
  })
})

test('a step that throws at once is undone as one that rejects', async () => {
  const { log, logged } = recordedLog()
  const undo = new AsyncDisposableStack()
  closerOf(undo, log)('a step', () => {
    throw new Error('at once')
  })
  await undo.disposeAsync()
  expect(logged).toEqual([[{ err: new Error('at once') }, 'closing a step failed']])
})

test('what ends together is begun in order, and waits for nobody and fails nobody', async () => {
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
      // The slow one ends only because this one is not kept waiting by it.
      () => {
        begun.push('last')
        resolve()
      },
    ],
    log,
  )
  expect(begun).toEqual(['slow', 'broken', 'last'])
  expect(logged).toEqual([[{ err: new Error('stays') }, 'a stop failed']])
})
