/** Replaces the generated part of a document between two comments. */

/**
 * Returns the document with a new generated part.
 * @throws Error when the two comments are missing
 */
export function withSection(document: string, name: string, section: string): string {
  const [begin, end] = [`<!-- ${name}: begin (generated) -->`, `<!-- ${name}: end -->`]
  const [head, rest] = document.split(begin)
  const tail = rest?.split(end)[1]
  if (tail === undefined) throw new Error(`The document lacks the lines ${begin} and ${end}.`)
  return `${head}${begin}\n\n${section}\n\n${end}${tail}`
}

/** Returns a Markdown table. */
export function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}
