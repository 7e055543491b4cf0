import { withApp } from './service.ts'

const PROGRESS_EVERY = 500_000

/** Counts the journal again, with or without a running service. Writes the progress to stderr. */
export function rebuildStats(): Promise<void> {
  return withApp(async ({ features }) => {
    let shown = 0
    const { entries, rows } = await features.stats.rebuild((counted) => {
      if (counted < shown + PROGRESS_EVERY) return
      shown = counted
      process.stderr.write(`${counted} entries counted\n`)
    })
    return `Counted ${entries} journal entries again and wrote ${rows} counts.`
  }, true)
}
