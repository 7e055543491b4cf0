/** Verifies exported logs without a database, configuration or network. */
import { stat } from 'node:fs/promises'
import type { NoteVerifier } from '../../../lib/signed-note.ts'
import type { Block } from './compare-block.ts'
import type { ExportHeader } from './export-format.ts'
import { logsOf, openLines } from './file-reader.ts'
import { type Findings, openFindings, Uncheckable, type VerificationReport } from './findings.ts'
import { findLogFolders, folderBlocks, readFolderHeader, tileDifference } from './folder.ts'
import { type KeptHeads, parseHead, parseKey, readHeads } from './kept-heads.ts'
import { openSharedEvidence, type SharedEvidence, verifyLog } from './log-verifier.ts'
import { readOrigin } from './origin.ts'

/** The evidence that the holder of an export has kept. */
export interface Kept {
  /** The paths of files with a signed head each. */
  heads: readonly string[]
  /** Verifier keys. Without any, the key in the export is used, and the report says so. */
  keys: readonly string[]
}

interface Verification {
  keys: readonly NoteVerifier[]
  heads: KeptHeads
  findings: Findings
  shared: SharedEvidence
}

/** Verifies an exported file or folder. @throws Uncheckable if a head or a key is malformed */
export async function verifyExport(path: string, kept: Kept): Promise<VerificationReport> {
  const findings = openFindings()
  const keys = kept.keys.map(parseKey)
  const heads = await readHeads(kept.heads)
  const verification = { keys, heads, findings, shared: openSharedEvidence() }
  const verify = (await stat(path)).isDirectory() ? verifyFolders : verifyFile
  await withUnchecked(findings, async () => {
    await verify(path, verification)
    findings.report.unchecked.push(...heads.unused())
  })
  return findings.report
}

/** Runs `work`. Adds the reason to the report if it ends early, so that earlier findings are reported. */
export async function withUnchecked(findings: Findings, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Uncheckable)) throw error
    findings.report.unchecked.push(error.message)
  }
}

async function verifyFile(path: string, verification: Verification): Promise<void> {
  const reader = openLines(path)
  let number = 0
  try {
    for await (const { header, blocks } of logsOf(reader)) {
      const at = number
      let isRead = false
      const blocksOnce = () => {
        if (isRead) return blocksOf(path, at)
        isRead = true
        return blocks()
      }
      await verifyOne(header, path, blocksOnce, verification)
      number += 1
    }
  } finally {
    await reader.close()
  }
  if (number === 0) throw new Uncheckable(`${path}: The file is empty.`)
}

/** Reads the blocks of a log in a file again. @param number the number of logs before it */
async function* blocksOf(path: string, number: number): AsyncGenerator<Block> {
  const reader = openLines(path)
  let at = 0
  try {
    for await (const { blocks } of logsOf(reader)) {
      if (at === number) return yield* blocks()
      at += 1
      for await (const _ of blocks());
    }
  } finally {
    await reader.close()
  }
}

async function verifyFolders(path: string, verification: Verification): Promise<void> {
  const { findings } = verification
  for (const folder of await findLogFolders(path)) {
    const header = await readFolderHeader(folder)
    const report = tileDifference(findings, readOrigin(header.origin).tenant_id)
    let isRead = false
    const blocks = () => {
      const onDifference = isRead ? () => undefined : report
      isRead = true
      return folderBlocks(folder, header, onDifference)
    }
    await verifyOne(header, folder, blocks, verification)
  }
}

async function verifyOne(
  header: ExportHeader,
  path: string,
  blocks: () => AsyncIterable<Block>,
  { keys: given, heads, findings, shared }: Verification,
): Promise<void> {
  const { origin, checkpoint, key, size, end } = header
  if (given.length === 0)
    findings.note(
      `${origin}: the key is the one in the export. Compare it with the key that you kept, or pass --key: ${key.trim()}`,
    )
  const keys = given.length > 0 ? given : [parseKey(key)]
  const own = checkpoint === null ? [] : [parseHead(checkpoint, path, keys)]
  for (const head of own)
    if (head.origin !== origin || head.size > size)
      throw new Uncheckable(`${path}: The head in the export is of another log: ${head.origin}.`)
  const known = [...own, ...shared.formerHeads.filter((head) => head.origin === origin)]
  const confirmed = Math.max(0, ...known.map((head) => head.size))
  if (confirmed < end)
    findings.report.unchecked.push(
      `${origin}: no signed head confirms the entries ${confirmed} to ${end - 1}.`,
    )
  const part = { ...header, tenantId: readOrigin(origin).tenant_id }
  await verifyLog(part, [...own, ...heads.of(origin, keys)], blocks, findings, shared)
}
