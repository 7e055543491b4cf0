/** Merges the parts that the features report into one object, and rejects duplicate names. */
import type { Feature } from '../../platform/feature/feature.ts'

type Parts<T> = (feature: Feature) => Readonly<Record<string, T>> | undefined

/** Merges the parts of all features by name. @throws Error if two features report the same name */
export function gatherInTime<T>(
  what: string,
  features: readonly Feature[],
  partsOf: Parts<T>,
): Record<string, T> {
  const gathered: Record<string, T> = {}
  for (const feature of features)
    for (const [name, value] of Object.entries(partsOf(feature) ?? {})) {
      if (name in gathered)
        throw new Error(`${feature.name}: the ${what} ${name} is reported twice`)
      gathered[name] = value
    }
  return gathered
}

/** Merges like `gatherInTime`. @throws Error if a name is duplicate, missing or not on the list */
export function gatherAll<T, Name extends string>(
  what: string,
  features: readonly Feature[],
  partsOf: Parts<T>,
  list: Readonly<Record<Name, unknown>>,
): Record<Name, T> {
  const gathered = gatherInTime(what, features, partsOf)
  for (const name of Object.keys(list))
    if (!(name in gathered)) throw new Error(`no feature reports the ${what} ${name}`)
  for (const name of Object.keys(gathered))
    if (!(name in list)) throw new Error(`the ${what} ${name} is not on the list`)
  return gathered as Record<Name, T>
}
