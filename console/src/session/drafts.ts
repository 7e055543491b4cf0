/**
 * Keeps what a person typed in forms while they are signed out, and offers it to the same person only. Drafts live in
 * memory: closing or reloading the tab drops them.
 */

/** The values of a form by field name. Secret fields are never part of it. */
export type Draft = Readonly<Record<string, string>>

export interface Drafts {
  /** Names the person whose drafts these are. Drops the drafts of anyone else. */
  belongTo(person: string): void
  keep(form: string, draft: Draft): void
  /** Returns what was kept for a form, if anything. */
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
