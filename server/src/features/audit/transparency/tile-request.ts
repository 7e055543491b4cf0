/** The path of a tile below `/tile/`, as C2SP tlog-tiles defines it. */
import Type from 'typebox'
import { TILE_WIDTH, type TilePlace } from '../../../lib/merkle/tree.ts'
import { patterned } from '../../../lib/patterns.ts'

/** The requested tile, and how many of its hashes or entries. */
export interface TileRequest extends TilePlace {
  /** True for the content of leaves. The level is then 0. */
  readonly isBundle: boolean
  readonly width: number
}

const LEVEL = '\\d|[1-5]\\d|6[0-3]|entries'
/** The index in groups of three digits, without leading groups of zeros. Five groups are enough for 2^53 leaves. */
const INDEX = '(?:x(?:00[1-9]|0[1-9]\\d|[1-9]\\d\\d)/(?:x\\d{3}/){0,3})?\\d{3}'
const WIDTH = '[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5]'
const PATTERN = `^(${LEVEL})/(${INDEX})(?:\\.p/(${WIDTH}))?$`

export const TilePath = Type.String({
  maxLength: 40,
  ...patterned(PATTERN, 'be the path of a tile, such as 0/x001/067 or entries/000.p/12'),
  description:
    'The path of the tile, with its slashes: level and index, such as `0/x001/067`, or `entries/x001/067`. `.p/12` after it requests the first 12 hashes or entries of a tile that is not full.',
  examples: ['0/000.p/12'],
})

/** Reads a path that matches `TilePath`. */
export function readTilePath(path: string): TileRequest {
  const [, level = '', index = '', width = TILE_WIDTH] = new RegExp(PATTERN).exec(path) ?? []
  const isBundle = level === 'entries'
  return {
    isBundle,
    level: isBundle ? 0 : Number(level),
    index: Number(index.replaceAll(/[x/]/g, '')),
    width: Number(width),
  }
}
