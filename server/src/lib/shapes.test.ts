/** The shapes that schemas share, as JSON Schema. */
import { expect, test } from 'vitest'
import { Id, InvalidBody, Name, NewPassword, Nullable, OneOf, ProblemBody } from './shapes.ts'

test('an id is an integer that JavaScript holds exactly', () => {
  expect(Id).toMatchObject({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
})

test('a nullable value keeps its bounds and names both types', () => {
  expect(Nullable(Name)).toMatchObject({ type: ['string', 'null'], minLength: 1, maxLength: 200 })
  expect(Nullable(Id)).toMatchObject({ type: ['integer', 'null'], minimum: 1 })
})

test('a nullable word of a list takes null besides the words', () => {
  expect(Nullable(OneOf(['a', 'b']))).toMatchObject({
    type: ['string', 'null'],
    enum: ['a', 'b', null],
  })
})

test('a word of a list keeps what is said of it', () => {
  expect(OneOf(['a', 'b'], { default: 'b' })).toEqual({
    type: 'string',
    enum: ['a', 'b'],
    default: 'b',
  })
})

test('a new password has 8 to 128 characters and is not trimmed', () => {
  expect(NewPassword).toMatchObject({ minLength: 8, maxLength: 128 })
  expect(NewPassword).not.toHaveProperty('trim')
})

test('there are two bodies of a refusal, each with a name of its own', () => {
  const [problem, invalid] = [ProblemBody, InvalidBody] as unknown as {
    $id: string
    properties: object
  }[]
  expect(problem?.$id).not.toBe(invalid?.$id)
  expect(Object.keys(problem?.properties ?? {})).toEqual(['detail', 'code'])
  expect(Object.keys(invalid?.properties ?? {})).toEqual(['detail'])
})
