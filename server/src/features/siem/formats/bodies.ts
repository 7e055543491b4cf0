/** The body of a message about an entry, in the configured format and within a size. */
import type { NumberedEntry } from '../../../platform/journal/index.ts'
import { asciiJson, asciiOf } from './ascii.ts'
import { cefRecord } from './cef.ts'
import { type OcsfEvent, ocsfEvent } from './ocsf.ts'

export type SiemFormat = 'ocsf' | 'cef'

/** Returns the body in printable ASCII, with at most `maxBytes`. */
export type BodyOf = (entry: NumberedEntry, maxBytes: number) => string

/** The lengths to which texts are cut, one after the other, if an entry without its changes is still too long. */
const TEXT_LENGTHS = [256, 64]

/** @param version the version of this service */
export const bodies = (version: string): Record<SiemFormat, BodyOf> => ({
  ocsf: (entry, maxBytes) => within(ocsfEvent(entry, version), maxBytes),
  cef(entry, maxBytes) {
    const whole = cefRecord(entry, version)
    if (whole.length <= maxBytes) return whole
    for (const length of [Number.POSITIVE_INFINITY, ...TEXT_LENGTHS]) {
      const cut = cefRecord(cutTexts({ ...entry, changes: null }, length), version, true)
      if (cut.length <= maxBytes) return cut
    }
    throw new Error('the entry does not fit into a message')
  },
})

/** Removes `unmapped.changes` first, and then the ends of long texts. */
function within(event: OcsfEvent, maxBytes: number): string {
  const json = JSON.stringify(event)
  // Escapes only make a text longer, and take long for a huge one.
  const whole = json.length <= maxBytes ? asciiOf(json) : undefined
  if (whole !== undefined && whole.length <= maxBytes) return whole
  const { changes: _, ...unmapped } = event.unmapped
  const { resources: _resources, ...rest } = event
  const metadata = {
    ...event.metadata,
    is_truncated: true,
    untruncated_size: Math.ceil(Buffer.byteLength(json) / 1024),
  }
  const withoutChanges = asciiJson({ ...event, metadata, unmapped })
  if (withoutChanges.length <= maxBytes) return withoutChanges
  for (const length of TEXT_LENGTHS) {
    const cut = asciiJson(cutTexts({ ...rest, metadata, unmapped }, length))
    if (cut.length <= maxBytes) return cut
  }
  throw new Error('the entry does not fit into a message')
}

/** Cuts every text in a value to a number of UTF-16 code units. */
function cutTexts<T>(value: T, length: number): T {
  if (typeof value === 'string') return value.slice(0, length) as T
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, length)) as T
  if (typeof value !== 'object' || value === null) return value
  const parts = Object.entries(value).map(([name, part]) => [name, cutTexts(part, length)])
  return Object.fromEntries(parts) as T
}
