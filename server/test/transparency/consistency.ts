/** Verifies consistency proofs as RFC 9162 §2.1.4.2 describes it, independently of the code that creates them. */
import { createHash } from 'node:crypto'

export interface TwoHeads {
  old: number
  oldRoot: Buffer
  size: number
  root: Buffer
}

const node = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest()

/** Returns whether a proof shows that one tree extends another. */
export function isConsistent({ old, oldRoot, size, root }: TwoHeads, proof: Buffer[]): boolean {
  if (old > size) return false
  if (old === size) return proof.length === 0 && oldRoot.equals(root)
  if (old === 0) return proof.length === 0
  // If the old tree is perfect, its root is the first hash.
  const path = Number.isInteger(Math.log2(old)) ? [oldRoot, ...proof] : [...proof]
  let [at, last] = [old - 1, size - 1]
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
  const first = path.shift()
  if (!first) return false
  let [oldHash, newHash] = [first, first]
  for (const hash of path) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      oldHash = node(hash, oldHash)
      newHash = node(hash, newHash)
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
    } else newHash = node(newHash, hash)
    ;[at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
  }
  return last === 0 && oldHash.equals(oldRoot) && newHash.equals(root)
}
