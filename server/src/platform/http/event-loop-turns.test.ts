import fastify from 'fastify'
import { expect, test } from 'vitest'
import { readJsonBodies } from './body.ts'
import { oneATurn } from './event-loop-turns.ts'

test('the service runs tasks in order, one per event-loop turn, after other due callbacks', () => {
  const turns: (() => void)[] = []
  const done: string[] = []
  const take = oneATurn((next) => turns.push(next))
  take(() => {
    done.push('first')
    take(() => done.push('third'))
  })
  take(() => done.push('second'))
  expect(done).toEqual([])
  for (const after of [['first'], ['first', 'second'], ['first', 'second', 'third']]) {
    expect(turns).toHaveLength(1)
    turns.shift()?.()
    expect(done).toEqual(after)
  }
  expect(turns).toEqual([])
})

test('the service runs the next task after a task that throws', () => {
  const turns: (() => void)[] = []
  const done: string[] = []
  const take = oneATurn((next) => turns.push(next))
  take(() => {
    throw new Error('broken')
  })
  take(() => done.push('second'))
  expect(() => turns.shift()?.()).toThrow('broken')
  turns.shift()?.()
  expect(done).toEqual(['second'])
})

test('the service parses only one long body per event-loop turn when several arrive', async () => {
  const app = fastify({ bodyLimit: 64 * 1024 })
  readJsonBodies(app)
  let turn = 0
  app.post('/turn', { config: { takesBody: true } }, async () => ({ turn }))
  await app.ready()
  let isCounting = true
  const count = () => {
    turn += 1
    if (isCounting) setImmediate(count)
  }
  count()
  const payload = JSON.stringify({ x: Array.from({ length: 4000 }, () => ({})) })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      app.inject({
        method: 'POST',
        url: '/turn',
        payload,
        headers: { 'content-type': 'application/json' },
      }),
    ),
  )
  isCounting = false
  await app.close()
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(200))
  expect(new Set(answers.map((answer) => answer.json().turn)).size).toBe(20)
})
