/** The validator's errors, said in the vocabulary of the contract. */
import type { ErrorObject } from 'ajv'
import { expect, test } from 'vitest'
import { toIssues } from './issues.ts'

const error = (keyword: string, params: object, instancePath = ''): ErrorObject => ({
  keyword,
  params,
  instancePath,
  schemaPath: '#',
  message: 'must be otherwise',
})

test('a missing field is named at the end of its place', () => {
  expect(toIssues([error('required', { missingProperty: 'b' }, '/a/0')], 'body')).toEqual([
    { loc: ['body', 'a', '0', 'b'], type: 'missing', msg: 'Field required' },
  ])
})

test('names with slashes and tildes come out as they were sent', () => {
  const [issue] = toIssues([error('type', { type: 'string' }, '/a~1b/c~0d/~01')], 'query')
  expect(issue?.loc).toEqual(['query', 'a/b', 'c~d', '~1'])
})

test('a type of text is a matter of parsing outside of the body', () => {
  const type = (part: 'body' | 'query' | 'path' | 'header', wanted: string | string[]) =>
    toIssues([error('type', { type: wanted }, '/x')], part)[0]?.type
  expect(type('body', 'integer')).toBe('int_type')
  for (const part of ['query', 'path', 'header'] as const) {
    expect(type(part, 'integer')).toBe('int_parsing')
    expect(type(part, 'boolean')).toBe('bool_parsing')
    expect(type(part, 'string')).toBe('string_type')
  }
  expect(type('body', ['null', 'boolean'])).toBe('bool_type')
})

test('a list that is too short or too long is told how many items it should have', () => {
  const issues = [error('minItems', { limit: 1 }, '/x'), error('maxItems', { limit: 100 }, '/x')]
  expect(toIssues(issues, 'body')).toEqual([
    {
      loc: ['body', 'x'],
      type: 'too_short',
      msg: 'List should have at least 1 item after validation',
    },
    {
      loc: ['body', 'x'],
      type: 'too_long',
      msg: 'List should have at most 100 items after validation',
    },
  ])
})

test('what the vocabulary has no word for is a value error', () => {
  for (const [keyword, params] of [
    ['uniqueItems', {}],
    ['freeForm', {}],
    ['format', { format: 'unheard-of' }],
    ['type', { type: 'unheard-of' }],
  ] as const)
    expect(toIssues([error(keyword, params)], 'body')).toMatchObject([
      { loc: ['body'], type: 'value_error' },
    ])
})

test('every error is an issue of its own, and no error is none', () => {
  const errors = ['a', 'b', 'a'].map((name) => error('required', { missingProperty: name }))
  expect(toIssues(errors, 'body')).toHaveLength(3)
  expect(toIssues([], 'body')).toEqual([])
})
