/** What nodes notify each other of: `user:5` for one of a kind, `keys` for a kind as a whole. */

/**
 * The kinds, each with its spelling. Each feature adds its own by declaration merging, beside its
 * tables.
 */
export interface Topics {
  /** New entries. */
  journal: 'journal'
  /** Keys have come or gone, of whichever kind. */
  keys: 'keys'
  /** A restore has put other rows in the place of many: nothing that is cached holds. */
  restored: 'restored'
}

export type Topic = Topics[keyof Topics]

export interface ParsedTopic {
  kind: string
  /** Which one; undefined for a kind as a whole. */
  id: string | undefined
  /** The id of a kind that counts in numbers. */
  number: number | undefined
}

/** Takes apart what a node was notified of, which may be a newer release's. */
export function parseTopic(topic: string): ParsedTopic {
  const colon = topic.indexOf(':')
  if (colon < 0) return { kind: topic, id: undefined, number: undefined }
  const id = topic.slice(colon + 1)
  return { kind: topic.slice(0, colon), id, number: /^\d+$/.test(id) ? Number(id) : undefined }
}
