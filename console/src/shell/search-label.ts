import type { Role } from '../words/roles.ts'
import { pagesFor } from './pages.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** The pages whose records the search finds. */
export const SEARCHED_PATHS = { people: '/users', departments: '/departments' } as const

/** Returns what the search covers for a role, in words. */
export function searchLabel(role: Role): string {
  const paths = pagesFor(role).map(({ path }) => path)
  const isSearched = Object.values(SEARCHED_PATHS).some((path) => paths.includes(path))
  return isSearched ? texts.search : texts.searchPages
}
