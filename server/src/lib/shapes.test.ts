/** Tests schemas that other schemas share, in their form as JSON Schema. */
import { expect, test } from 'vitest'
import { Id, InvalidBody, Name, NewPassword, Nullable, OneOf, ProblemBody } from './shapes.ts'

test('the schema of an ID limits the value to integers that JavaScript represents exactly', () => {
  expect(Id).toMatchObject({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
})

test('a schema keeps the limits of a value that may be null, and names both types', () => {
  expect(Nullable(Name)).toMatchObject({ type: ['string', 'null'], minLength: 1, maxLength: 200 })
  expect(Nullable(Id)).toMatchObject({ type: ['integer', 'null'], minimum: 1 })
})

test('a schema adds null to the allowed values of an enum that may be null', () => {
  expect(Nullable(OneOf(['a', 'b']))).toMatchObject({
    type: ['string', 'null'],
    enum: ['a', 'b', null],
  })
})

test('a schema keeps the schema options of an enum', () => {
  expect(OneOf(['a', 'b'], { default: 'b' })).toEqual({
    type: 'string',
    enum: ['a', 'b'],
    default: 'b',
  })
})

test('the schema of a new password requires 8 to 128 characters, without trimming them', () => {
  expect(NewPassword).toMatchObject({ minLength: 8, maxLength: 128 })
  expect(NewPassword).not.toHaveProperty('trim')
})

test('the schemas of the two error bodies have different names', () => {
  const [problem, invalid] = [ProblemBody, InvalidBody] as unknown as {
    $id: string
    properties: object
  }[]
  expect(problem?.$id).not.toBe(invalid?.$id)
  expect(Object.keys(problem?.properties ?? {})).toEqual(['detail', 'code'])
  expect(Object.keys(invalid?.properties ?? {})).toEqual(['detail'])
})
