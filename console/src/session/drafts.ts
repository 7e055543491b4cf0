/**
 * Stores the input of forms while the user is signed out, and offers it only to the same user. Drafts are stored in
 * memory, so closing or reloading the tab drops them.
 */

/** The values of a form by field name. Secret fields are never part of it. */
export type Draft = Readonly<Record<string, string>>

export interface Drafts {
  /** Sets the user whose drafts are stored. Drops the drafts of any other user. */
  belongTo(person: string): void
  keep(form: string, draft: Draft): void
  /** Returns the draft of a form, if there is one. */
  offered(form: string): Draft | undefined
  drop(form: string): void
}

/** Creates an empty store of drafts. */
export function createDrafts(): Drafts {
  let owner: string | undefined
  const drafts = new Map<string, Draft>()
  return {
    belongTo(person) {
      if (owner !== person) drafts.clear()
      owner = person
    },
    keep(form, draft) {
      if (owner !== undefined) drafts.set(form, draft)
    },
    offered: (form) => drafts.get(form),
    drop(form) {
      drafts.delete(form)
    },
  }
}
