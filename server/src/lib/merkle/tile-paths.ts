/** The paths of the resources of a log in tiles (C2SP tlog-tiles). */
import { TILE_WIDTH, type TilePlace } from './tree.ts'

/** A tile with the number of its hashes, which is below 256 only at the right edge. */
export interface SizedTile extends TilePlace {
  readonly width: number
}

/** Returns an index in groups of three digits: 1234067 is `x001/x234/067`. */
function groupsOf(index: number): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? []
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}

const partOf = (width: number): string => (width < TILE_WIDTH ? `.p/${width}` : '')

/** Returns the path of a tile, such as `tile/0/x001/067` or `tile/1/000.p/5`. */
export const tilePath = ({ level, index, width }: SizedTile): string =>
  `tile/${level}/${groupsOf(index)}${partOf(width)}`

/** Returns the path of the entries below a tile of level 0. */
export const entriesPath = ({ index, width }: Omit<SizedTile, 'level'>): string =>
  `tile/entries/${groupsOf(index)}${partOf(width)}`
