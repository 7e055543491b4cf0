/** Entity tags (RFC 9110 §8.8.3): a client that has seen a response receives 304 while it stays the same. */
import { createHash } from 'node:crypto'

/** The status of a response that the client already has. */
export const NOT_MODIFIED = 304

/** Returns the weak entity tag of a content. Compressed and plain forms of a content share the tag. */
export const etagOf = (content: Buffer | string): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`

/** Compares entity tags with the weak comparison that `If-None-Match` requires (RFC 9110 §13.1.2). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  const tags = header?.split(',').map(opaque) ?? []
  return tags.includes('*') || tags.includes(opaque(etag))
}
