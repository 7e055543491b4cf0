/** Topics of notifications between nodes. `user:5` stands for one user, `keys` for all keys. */

/** The kinds of topics and their format. Each feature adds its kinds by declaration merging, next to its tables. */
export interface Topics {
  journal: 'journal'
  /** Keys of any kind were added or removed. */
  keys: 'keys'
  /** Invalidations were deleted before the node read them, so all its cached values may be outdated. */
  unread: 'unread'
  /** A restore has replaced many rows, so all cached values are outdated. */
  restored: 'restored'
}

export type Topic = Topics[keyof Topics]

export interface ParsedTopic {
  kind: string
  /** The id, such as `5` in `user:5`. Undefined if the topic concerns the whole kind. */
  id: string | undefined
  number: number | undefined
}

/** Parses a topic. Accepts unknown kinds, because a node of a newer release may have sent the topic. */
export function parseTopic(topic: string): ParsedTopic {
  const colon = topic.indexOf(':')
  if (colon < 0) return { kind: topic, id: undefined, number: undefined }
  const id = topic.slice(colon + 1)
  return { kind: topic.slice(0, colon), id, number: /^\d+$/.test(id) ? Number(id) : undefined }
}
