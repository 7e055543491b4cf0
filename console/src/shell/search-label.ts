import type { Role } from '../words/roles.ts'
import { pagesFor } from './pages.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** The pages whose records the search finds. */
export const SEARCHED_PATHS = { people: '/users', departments: '/departments' } as const

/** Returns a description of the records that a role can search. */
export function searchLabel(role: Role): string {
  const paths = pagesFor(role).map(({ path }) => path)
  const isSearched = Object.values(SEARCHED_PATHS).some((path) => paths.includes(path))
  return isSearched ? texts.search : texts.searchPages
}
