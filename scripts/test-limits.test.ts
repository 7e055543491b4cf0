import { expect, it } from 'vitest'
import { overBudget } from './test-limits.ts'

const file = { name: 'a.test.ts', seconds: 20, services: 3 }

it('the budget check accepts files within the budget', () => {
  expect(overBudget([file], {})).toEqual([])
})

it('the budget check reports each file that takes too long or opens too many services', () => {
  const lines = overBudget(
    [
      { ...file, seconds: 20.1 },
      { ...file, name: 'b.test.ts', services: 4 },
    ],
    {},
  )
  expect(lines).toEqual(['a.test.ts took 20.1 s of 20 s.', 'b.test.ts opened 4 services of 3.'])
})

it('the budget check applies the higher budget of a listed exception', () => {
  const exceptions = { 'a.test.ts': { services: 5 } }
  expect(overBudget([{ ...file, services: 5 }], exceptions)).toEqual([])
  expect(overBudget([{ ...file, services: 6, seconds: 21 }], exceptions)).toHaveLength(2)
})

it('the budget check allows every file more time if the whole run is slow', () => {
  const others = Array.from({ length: 200 }, (_, i) => ({ ...file, name: `${i}.test.ts` }))
  const measured = { ...file, name: 'slow.test.ts' }
  expect(overBudget([...others, { ...measured, seconds: 40 }], {})).toEqual([])
  expect(overBudget([...others, { ...measured, seconds: 60 }], {})).toEqual([
    'slow.test.ts took 60.0 s of 46 s.',
  ])
})
