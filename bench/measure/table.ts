/** The table of results: one line a scenario, with its aim beside it. */

export interface Line {
  name: string
  ours: string
  /** What ours is held against: the baseline's figure, or a limit. */
  limit: string
  ratio: number
  aim: { atLeast: number } | { atMost: number }
}

const HEADINGS = ['scenario', 'ours', 'limit / baseline', 'ratio', 'aim', '']

export function isMet({ ratio, aim }: Pick<Line, 'ratio' | 'aim'>): boolean {
  return 'atLeast' in aim ? ratio >= aim.atLeast : ratio <= aim.atMost
}

/** One Markdown table, so that it reads in a terminal and can be pasted into the README. */
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

/** `12,345/s`, with a decimal where that says something. */
export function perSecond(rate: number): string {
  return `${rate.toLocaleString('en-US', { maximumFractionDigits: rate < 100 ? 1 : 0 })}/s`
}
