/** Writes audit entries as CSV (RFC 4180), so that a spreadsheet that opens the file never executes a formula. */

/** Characters that make a spreadsheet interpret a cell as a formula, including their full-width forms. */
const STARTS_FORMULA = /^[=+\-@\t\r\n＝＋－＠]/
/**
 * Matches a position where a spreadsheet would start a new cell if it separates cells by semicolon or tab. Such a
 * spreadsheet ignores the quoting of RFC 4180, so quotes and line breaks may precede the formula.
 */
const STARTS_INNER_FORMULA = /([;\t\r\n][\s"']*)(?=[=+\-@＝＋－＠])/g

/** Returns one line of CSV with its line break. Writes objects as JSON and null as an empty cell. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvCell).join(',')}\r\n`
}

function csvCell(value: unknown): string {
  const text = harmless(textOf(value))
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Inserts an apostrophe before each text that a spreadsheet would interpret as a formula. */
function harmless(text: string): string {
  const inner = text.replaceAll(STARTS_INNER_FORMULA, "$1'")
  return STARTS_FORMULA.test(inner) ? `'${inner}` : inner
}
