/** The complete contents of a database, to search for data that must not be there. */
import type { TestDatabase } from './database.ts'

/** Returns every row of every table as text, with bytes in hex. */
export async function everythingIn({ sql }: TestDatabase): Promise<string> {
  const tables = await sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await sql<{ row: string }>(`select t::text as row from ${name} t`)
    texts.push(...rows.map(({ row }) => row))
  }
  return texts.join('\n')
}
