/** Writes the tables of variables for the reference of the configuration. */
import { VARIABLE_GROUPS } from '../../server/src/config/config.ts'
import { tableOf } from './sections.ts'

/** Returns a table of variables per subject. */
export function variableTables(): string {
  const tables = Object.entries(VARIABLE_GROUPS).map(([subject, variables]) => {
    const rows = Object.entries(variables).map(([name, { meaning, default: fallback }]) => [
      `\`${name}\``,
      meaning,
      fallback,
    ])
    return `## ${subject}\n\n${tableOf(['Variable', 'Meaning', 'Default'], rows)}`
  })
  return tables.join('\n\n')
}
