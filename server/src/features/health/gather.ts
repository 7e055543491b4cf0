/** Puts together what the features say of themselves, each name once. */
import type { Feature } from '../../platform/feature.ts'

type Parts<T> = (feature: Feature) => Readonly<Record<string, T>> | undefined

/** @throws Error for a name that two features say */
export function gather<T>(
  what: string,
  features: readonly Feature[],
  partsOf: Parts<T>,
): Record<string, T> {
  const gathered: Record<string, T> = {}
  for (const feature of features)
    for (const [name, value] of Object.entries(partsOf(feature) ?? {})) {
      if (name in gathered) throw new Error(`${feature.name}: the ${what} ${name} is told twice`)
      gathered[name] = value
    }
  return gathered
}

/** As `gather`, of a closed list. @throws Error also for a name that is missing, or not on the list */
export function gatherAll<T, Name extends string>(
  what: string,
  features: readonly Feature[],
  partsOf: Parts<T>,
  list: Readonly<Record<Name, unknown>>,
): Record<Name, T> {
  const gathered = gather(what, features, partsOf)
  for (const name of Object.keys(list))
    if (!(name in gathered)) throw new Error(`no feature tells the ${what} ${name}`)
  for (const name of Object.keys(gathered))
    if (!(name in list)) throw new Error(`the ${what} ${name} is not on the list`)
  return gathered as Record<Name, T>
}
