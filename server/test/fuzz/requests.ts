/** Builds whole requests to an operation. Generates their values from the description of the operation. */
import fc, { type Arbitrary } from 'fast-check'
import type { Described } from './document.ts'
import { hostile, hostileText, type Known, nearlyValid, valid } from './values.ts'

export interface FuzzedRequest {
  path: string
  query: string
  body: string | undefined
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())

/** Generates the text of a path or query parameter. Most of the texts are valid. */
function parameter(schema: object, known: Known): Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: valid(schema, known).map(String) },
    { weight: 2, arbitrary: hostileText },
  )
}

function pathOf({ path, parameters }: Described, known: Known): Arbitrary<string> {
  const named = parameters.filter((one) => one.in === 'path')
  const values = fc.tuple(
    ...named.map(({ name, schema }) => {
      const id = known.named[name]
      const any = parameter(schema, known)
      return id === undefined ? any : fc.oneof(fc.constant(String(id)), any)
    }),
  )
  return values.map((texts) =>
    named.reduce(
      // Replaces empty text, because an empty segment would make another path, which is not tested here.
      (made, { name }, index) => made.replace(`{${name}}`, encode(texts[index] || '0')),
      path,
    ),
  )
}

function queryOf({ parameters }: Described, known: Known): Arbitrary<string> {
  const named = parameters.filter((one) => one.in === 'query')
  const one = fc.oneof(
    ...named.map(({ name, schema }) => parameter(schema, known).map((text) => [name, text])),
    fc.tuple(hostileText, hostileText),
  )
  // Includes required parameters in most requests, because without them the only answer is 422.
  const needed = named
    .filter(({ required }) => required)
    .map(({ name, schema }) => parameter(schema, known).map((text) => [name, text]))
  // Adds few parameters if the operation declares none, because unknown parameters are rejected.
  const some = fc.oneof(
    { weight: named.length === 0 ? 6 : 1, arbitrary: fc.tuple(...needed) },
    { weight: 1, arbitrary: fc.array(one, { maxLength: 5 }) },
  )
  return fc
    .tuple(some, fc.constantFrom('', '', '', '&%', '&page=%zz', '&=&&'))
    .map(([pairs, tail]) => {
      const query = pairs.map(([name, text]) => `${encode(name ?? '')}=${encode(text ?? '')}`)
      return query.join('&') + tail
    })
}

/** Returns JSON text. Keeps lone surrogates as escapes, which JSON allows and UTF-8 does not. */
const json = (value: unknown) => JSON.stringify(value)

function bodyOf({ body }: Described, known: Known): Arbitrary<string | undefined> {
  if (!body) return fc.option(hostile.map(json), { nil: undefined, freq: 4 })
  return fc.oneof(
    { weight: 4, arbitrary: valid(body, known).map(json) },
    { weight: 6, arbitrary: nearlyValid(body, known).map(json) },
    { weight: 2, arbitrary: hostile.map(json) },
    { weight: 1, arbitrary: fc.string().map((text) => text.toWellFormed()) },
    { weight: 1, arbitrary: fc.constantFrom('', '{', '[1,', '{"a":1,"a":2}', '\ufeff{}', 'NaN') },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )
}

/** Generates requests to the operation: valid, nearly valid and hostile requests. */
export function requests(operation: Described, known: Known): Arbitrary<FuzzedRequest> {
  return fc.record({
    path: pathOf(operation, known),
    query: queryOf(operation, known),
    body: bodyOf(operation, known),
  })
}
