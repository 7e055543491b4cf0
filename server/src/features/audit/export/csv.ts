/** Audit entries as CSV (RFC 4180) that spreadsheets open without running anything. */

/** Characters that make a spreadsheet read a cell as a formula, with their full-width forms. */
const STARTS_FORMULA = /^[=+\-@\t\r\n＝＋－＠]/
/**
 * A spreadsheet that separates cells by semicolon or tab would start a cell here. It sees other quotes than RFC 4180 means,
 * so a quote or a line break may come in between.
 */
const STARTS_INNER_FORMULA = /([;\t\r\n][\s"']*)(?=[=+\-@＝＋－＠])/g

/** Returns one line of CSV, its line break included. Objects are written as JSON, null as an empty cell. */
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

/** Puts an apostrophe before what would be read as a formula. */
function harmless(text: string): string {
  const inner = text.replaceAll(STARTS_INNER_FORMULA, "$1'")
  return STARTS_FORMULA.test(inner) ? `'${inner}` : inner
}
