export { type Block, compareBlock, type EntryEvidence, type Item } from './compare-block.ts'
export {
  type ExportedEntry,
  type ExportHeader,
  entryLine,
  hashesLine,
  headerLine,
  itemFrom,
  lastLine,
  leavesIn,
  personalLine,
} from './export-format.ts'
export {
  FINDING_KINDS,
  type Finding,
  type FindingKind,
  type Findings,
  openFindings,
  Uncheckable,
  type VerificationReport,
} from './findings.ts'
export { CHECKPOINT_FILE, KEY_FILE, PERSONAL_FILE } from './folder.ts'
export { type KeptHeads, parseHead, parseKey, readHeads } from './kept-heads.ts'
export { blockEnd, openSharedEvidence, type SharedEvidence, verifyLog } from './log-verifier.ts'
export {
  addToSpans,
  type LeafSpan,
  type Orders,
  openOrders,
} from './orders.ts'
export { type LogOrigin, readOrigin, writeOrigin } from './origin.ts'
export { type Kept, verifyExport, withUnchecked } from './verify-export.ts'
