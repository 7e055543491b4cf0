/** A variable of the environment, and how its text is read. */

/** One variable: what it means, what it is by default (in words), and how its text is read. */
export interface Variable<T> {
  meaning: string
  default: string
  /** Reads the text, or the lack of it. @throws Error with what is wrong and what to write instead */
  read(text: string | undefined, env: NodeJS.ProcessEnv): T
}

export const variable = <T>(definition: Variable<T>): Variable<T> => definition

export function integer(fallback: number, least: number, most: number) {
  return (text: string | undefined): number => {
    if (text === undefined) return fallback
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new Error(`must be a whole number from ${least} to ${most}`)
    return value
  }
}

export function flag(text: string | undefined, fallback: boolean): boolean {
  if (text === undefined) return fallback
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new Error('must be true or false')
}

/** Returns what stands between the commas. */
export const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/**
 * Readers of variables that are of use together alone.
 * @param names all of them
 */
export function allOrNone(names: readonly string[]) {
  return <T>(name: string, parse: (text: string) => T): Variable<T | undefined>['read'] =>
    (text, env) => {
      if (text !== undefined) return parse(text)
      const given = names.find((other) => other !== name && env[other])
      if (given) throw new Error(`is needed with ${given}; set all of ${names.join(', ')}, or none`)
      return undefined
    }
}
