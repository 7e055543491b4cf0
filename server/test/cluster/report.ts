/** The table that a run prints. */

/** The result of a scenario. */
export interface ScenarioResult {
  title: string
  faults: readonly string[]
  /** The number of acknowledged writes. */
  writes: number
  /** The longest time without an acknowledged write. */
  pauseMs: number
  /** The longest response time, in milliseconds. */
  slowestMs: number
  seconds: number
}

const HEADINGS = ['Scenario', 'Result', 'Writes', 'Pause', 'Slowest', 'Seconds']

/** Returns the table of all results, with the faults of each scenario below its row. */
export function reportOf(results: readonly ScenarioResult[]): string {
  const rows = results.map(({ title, faults, writes, pauseMs, slowestMs, seconds }) => [
    title,
    faults.length === 0 ? 'passed' : 'FAILED',
    String(writes),
    `${(pauseMs / 1000).toFixed(1)} s`,
    `${(slowestMs / 1000).toFixed(1)} s`,
    seconds.toFixed(0),
  ])
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const lines = [line(HEADINGS), widths.map((width) => '─'.repeat(width)).join('──')]
  for (const [index, row] of rows.entries()) {
    lines.push(line(row))
    for (const fault of results[index]?.faults ?? []) lines.push(`    ✗ ${fault}`)
  }
  const failed = results.filter(({ faults }) => faults.length > 0).length
  lines.push('', `${results.length - failed} passed, ${failed} failed`)
  return lines.join('\n')
}
