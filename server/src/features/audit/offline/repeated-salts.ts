/** Finds salts that appear twice in a log of any length, in a fixed amount of memory. */

/** The number of bits, a power of two: 16 MiB. With 10,000,000 salts, 0.5 % are suspects without being repeated. */
const BITS = 2 ** 27
/** The number of bits for a salt. */
const PROBES = 4
/** The maximum number of suspects. With more, copies may be missed, and the report says so. */
const MAX_SUSPECTS = 200_000

export interface SaltFilter {
  /** Adds a salt. Remembers it as a suspect if it may have been added before. */
  add(salt: Buffer): void
  /** The salts that may appear twice. Compare them exactly in a second pass. */
  readonly suspects: ReadonlySet<string>
  /** Whether there were more suspects than fit into memory. */
  isOverfull(): boolean
}

/** Opens a Bloom filter. Salts are random, so their bytes serve as its hashes. */
export function openSaltFilter(): SaltFilter {
  const seen = new Uint8Array(BITS / 8)
  const suspects = new Set<string>()
  let isOverfull = false
  return {
    suspects,
    isOverfull: () => isOverfull,
    add(salt) {
      let isKnown = true
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = salt.readUInt32LE(probe * 4) % BITS
        const mask = 1 << (bit % 8)
        const byte = seen[bit >>> 3] ?? 0
        if ((byte & mask) === 0) {
          isKnown = false
          seen[bit >>> 3] = byte | mask
        }
      }
      if (!isKnown) return
      if (suspects.size < MAX_SUSPECTS) suspects.add(salt.toString('base64'))
      else isOverfull = true
    },
  }
}
