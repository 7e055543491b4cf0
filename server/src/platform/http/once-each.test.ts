import { expect, test } from 'vitest'
import { onceEach } from './once-each.ts'

test('compiles schemas of the same content once, and others for themselves', () => {
  const compiled: object[] = []
  const compile = onceEach((schema) => {
    compiled.push(schema)
    return () => JSON.stringify(schema)
  })
  const first = compile({ type: 'object', properties: { id: { type: 'integer' } } })
  expect(compile({ type: 'object', properties: { id: { type: 'integer' } } })).toBe(first)
  expect(compile({ type: 'object', properties: { id: { type: 'string' } } })).not.toBe(first)
  expect(compiled).toHaveLength(2)
})
