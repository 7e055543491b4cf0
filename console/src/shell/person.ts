import { createContext, useContext } from 'react'
import type { Person } from '../session/index.ts'

/** Carries the signed-in person to the pages inside the shell. */
export const PersonContext = createContext<Person | undefined>(undefined)

/** Returns the signed-in user. Can only be used inside the shell. */
export function usePersonHere(): Person {
  const person = useContext(PersonContext)
  if (!person) throw new Error('usePersonHere is used outside the shell')
  return person
}
