/** The parameters of a URL that determine the view of a list. Malformed parameters are ignored. */
import * as v from 'valibot'

/** Reads one parameter. Undefined if it is absent or malformed. */
export type Parameter<Value> = v.GenericSchema<unknown, Value | undefined>

const orAbsent = <Value>(schema: v.GenericSchema<unknown, Value>): Parameter<Value> =>
  v.fallback(v.union([v.undefined(), schema]), undefined)

/** Accepts numbers too, because the router reads `?search=5` as a number. */
const written = v.pipe(v.union([v.string(), v.number(), v.boolean()]), v.transform(String))

/** A text, such as a search term. An empty text counts as absent. */
export const textParameter = (maxLength: number): Parameter<string> =>
  orAbsent(v.pipe(written, v.minLength(1), v.maxLength(maxLength)))

/** The longest search term that the API accepts. */
export const MAX_SEARCH_LENGTH = 200

/** A text that passes a check, such as an address. */
export const checkedParameter = (
  maxLength: number,
  isValid: (text: string) => boolean,
): Parameter<string> => orAbsent(v.pipe(written, v.maxLength(maxLength), v.check(isValid)))

/** One of several words. */
export const choiceParameter = <const Choice extends string>(
  choices: readonly Choice[],
): Parameter<Choice> => orAbsent(v.picklist(choices))

/** A list of different texts. A single text may be given without a list. */
export const textsParameter = (
  maxLength: number,
  maxCount: number,
): Parameter<readonly string[]> => {
  const text = v.pipe(written, v.minLength(1), v.maxLength(maxLength))
  const texts = v.pipe(v.array(text), v.minLength(1), v.maxLength(maxCount))
  const list = v.pipe(
    v.unknown(),
    v.check((value) => value !== undefined),
    v.transform((value) => (Array.isArray(value) ? [...new Set(value)] : [value])),
    texts,
  )
  return orAbsent(list)
}

/** True or false. */
export const flagParameter: Parameter<boolean> = orAbsent(v.boolean())

/** A positive integer, such as the id of a record. */
export const idParameter: Parameter<number> = orAbsent(
  v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
)

/** Parameters by name. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>

/** The values of parameters, without the absent ones. */
export type ValuesOf<Named extends Parameters> = {
  readonly [Name in keyof Named]?: Exclude<v.InferOutput<Named[Name]>, undefined>
}

/** Reads the named parameters from the query of a URL. */
export function readParameters<Named extends Parameters>(
  named: Named,
  search: Readonly<Record<string, unknown>>,
): ValuesOf<Named> {
  const values = Object.entries(named).flatMap(([name, schema]) => {
    const value = v.parse(schema, search[name])
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(values) as ValuesOf<Named>
}
