/** Reads the blocks of the logs in an exported file. */
import { createReadStream } from 'node:fs'
import { linesOf, MalformedLines } from '../../../lib/lines.ts'
import type { Block, Item } from './compare-block.ts'
import {
  type ExportHeader,
  itemOf,
  MAX_LINE_BYTES,
  parseHashes,
  parseHeader,
  parseLine,
} from './export-format.ts'
import { Uncheckable } from './findings.ts'
import { blockEnd } from './log-verifier.ts'

/** Larger chunks need fewer turns of the event loop. */
const CHUNK_BYTES = 64 * 1024

/** The lines of a file, one after the other. */
export interface LineReader {
  /** Returns the next line, or undefined at the end of the file. @throws Uncheckable if the file is malformed */
  next(): Promise<string | undefined> | string | undefined
  /** Names the last line in reports. */
  where(): string
  close(): Promise<void>
}

export function openLines(path: string): LineReader {
  const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  const batches = linesOf(stream, MAX_LINE_BYTES)
  let lines: readonly string[] = []
  let at = 0
  let number = 0

  async function fromNextBatch(): Promise<string | undefined> {
    const { value, done } = await batches.next().catch((error: unknown) => {
      throw error instanceof MalformedLines ? new Uncheckable(`${path}: ${error.message}`) : error
    })
    if (done || !value) return undefined
    lines = value
    at = 0
    return next()
  }
  function next() {
    const line = lines[at]
    if (line === undefined) return fromNextBatch()
    at += 1
    number += 1
    return line
  }
  return {
    next,
    where: () => `${path}: line ${number}`,
    async close() {
      await batches.return(undefined)
      stream.destroy()
    },
  }
}

/** Yields the header of each log in a file. Blocks must be read to the end before the next header is requested. */
export async function* logsOf(
  reader: LineReader,
): AsyncGenerator<{ header: ExportHeader; blocks: () => AsyncGenerator<Block> }> {
  for (let line = await reader.next(); line !== undefined; line = await reader.next()) {
    const header = parseHeader(line, reader.where())
    yield { header, blocks: () => blocksOf(reader, header) }
  }
}

async function* blocksOf(reader: LineReader, { end }: ExportHeader): AsyncGenerator<Block> {
  let block: { first: number; hashes: Buffer; items: Item[] } | undefined
  for (;;) {
    const read = reader.next()
    const line = typeof read === 'string' ? read : await read
    if (line === undefined)
      throw new Uncheckable(
        `${reader.where()} is the last one, but the log continues. The file was cut.`,
      )
    const value = parseLine(line, reader.where())
    if ('entries' in value) break
    if ('index' in value) {
      if (!block) throw new Uncheckable(`${reader.where()} is an entry without hashes.`)
      block.items.push(itemOf(value, reader.where()))
      // Bounds the memory of a file with endless entries that belong to no leaf.
      if (block.items.length > MAX_ITEMS)
        throw new Uncheckable(`${reader.where()} is an entry too many. The file is not an export.`)
    } else {
      if (block) yield block
      const { first, hashes } = parseHashes(value, reader.where())
      if (first + hashes.length / 32 > blockEnd(first, end))
        throw new Uncheckable(`${reader.where()} has too many hashes.`)
      block = { first, hashes, items: [] }
    }
  }
  if (block) yield block
}

/** The maximum number of entries in a block: those of its 256 leaves, and enough inserted ones for a report. */
const MAX_ITEMS = 10_000
