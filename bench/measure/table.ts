/** The table of results: one line per scenario, with its aim. */

export interface Line {
  name: string
  ours: string
  /** The reference value: the baseline's figure, or a limit. */
  limit: string
  ratio: number
  aim: { atLeast: number } | { atMost: number }
}

const HEADINGS = ['scenario', 'ours', 'limit / baseline', 'ratio', 'aim', '']

export function isMet({ ratio, aim }: Pick<Line, 'ratio' | 'aim'>): boolean {
  return 'atLeast' in aim ? ratio >= aim.atLeast : ratio <= aim.atMost
}

/** Returns a Markdown table, readable in a terminal and ready for the README. */
export function tableOf(lines: readonly Line[]): string {
  const rows = lines.map((line) => [
    line.name,
    line.ours,
    line.limit,
    line.ratio.toFixed(2),
    'atLeast' in line.aim ? `≥ ${line.aim.atLeast}` : `≤ ${line.aim.atMost}`,
    isMet(line) ? 'met' : 'MISSED',
  ])
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const show = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const rule = show(widths.map((width) => '-'.repeat(width)))
  return [show(HEADINGS), rule, ...rows.map(show)].join('\n')
}

/** Formats a rate such as `12,345/s`, with a decimal for small values. */
export function perSecond(rate: number): string {
  return `${rate.toLocaleString('en-US', { maximumFractionDigits: rate < 100 ? 1 : 0 })}/s`
}
