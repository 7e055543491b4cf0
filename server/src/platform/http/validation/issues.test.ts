/** Tests the translation of validator errors to the issues that the API contract defines. */
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

test('the issue of a missing field has the field name at the end of its path', () => {
  expect(toIssues([error('required', { missingProperty: 'b' }, '/a/0')], 'body')).toEqual([
    { loc: ['body', 'a', '0', 'b'], type: 'missing', msg: 'Field required' },
  ])
})

test('the path of an issue contains slashes and tildes unescaped', () => {
  const [issue] = toIssues([error('type', { type: 'string' }, '/a~1b/c~0d/~01')], 'query')
  expect(issue?.loc).toEqual(['query', 'a/b', 'c~d', '~1'])
})

test('a value of the wrong type outside the body gets a parsing issue', () => {
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

test('a list of the wrong length gets an issue with the permitted number of items', () => {
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

test('an error of an unknown schema keyword becomes a value_error issue', () => {
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

test('each error of the validator becomes one issue', () => {
  const errors = ['a', 'b', 'a'].map((name) => error('required', { missingProperty: name }))
  expect(toIssues(errors, 'body')).toHaveLength(3)
  expect(toIssues([], 'body')).toEqual([])
})
