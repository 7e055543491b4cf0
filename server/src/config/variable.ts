import { isIP } from 'node:net'

/** A variable: its meaning, its default in words, and the function that reads its text. */
export interface Variable<T> {
  meaning: string
  default: string
  /** Reads the text, or undefined if it is not set. @throws Error that says what to write, with a line for each fault */
  read(text: string | undefined, env: NodeJS.ProcessEnv): T
}

export const isProduction = (env: NodeJS.ProcessEnv): boolean => env.NODE_ENV === 'production'

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

export function oneOf<Word extends string>(fallback: Word, words: readonly Word[]) {
  return (text: string = fallback): Word => {
    const word = words.find((one) => one === text)
    if (!word) throw new Error(`must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
    return word
  }
}

/** Reads an address to listen on. Does not check that this machine has the address. */
export function host(text = '127.0.0.1'): string {
  if (!isIP(text) && !/^[\w-]+(\.[\w-]+)*$/.test(text))
    throw new Error('must be an IP address or the name of a host')
  return text
}

/** Returns the items of a comma-separated list, trimmed and without empty ones. */
export const listIn = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Returns readers for variables that must be set together or not at all. @param names all of these variables */
export function allOrNone(names: readonly string[]) {
  return <T>(name: string, parse: (text: string) => T): Variable<T | undefined>['read'] =>
    (text, env) => {
      if (text !== undefined) return parse(text)
      const given = names.find((other) => other !== name && env[other])
      if (given)
        throw new Error(`is required with ${given}. Set all of ${names.join(', ')}, or none`)
      return undefined
    }
}
