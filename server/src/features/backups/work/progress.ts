/** The progress that backup jobs report. */
import type { JobUnit } from '../../../platform/feature/job-source.ts'

export interface Progress {
  /** The share of the whole job that is done, between 0 and 1. */
  share: number
  /** The current phase, in words for the user. */
  phase: string
  /** The work done in this phase. Null if the phase counts nothing. */
  done: number | null
  /** The work of this phase. Null if unknown. */
  total: number | null
  unit: JobUnit
}

/** Returns the progress of reading a new file back. @param before the share of the job before that */
export const readingBack = (before: number, bytes: number, size: number): Progress => ({
  share: before + ((1 - before) * bytes) / Math.max(size, 1),
  phase: 'Reading the file back',
  done: bytes,
  total: size,
  unit: 'bytes',
})
