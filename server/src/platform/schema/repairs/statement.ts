/** Determines the kind of a schema statement, and the name of the object that the statement is about. */

/** Patterns for a name, and for a name with an optional schema, in PostgreSQL's spelling. */
const NAME = `(?:"(?:[^"]|"")*"|[a-z_][a-z0-9_$]*)`
const OBJECT = `${NAME}(?:\\.${NAME})?`

const name = `(?<name>${NAME})`
const named = `(?<name>${OBJECT})`
const on = `(?<on>${OBJECT})`
const granted = `(?<on>(?:SCHEMA |SEQUENCE |ROUTINE )?${OBJECT}(?:\\([^)]*\\))?)`
const grantee = `(?<name>PUBLIC|${NAME})`

interface Parts {
  name: string
  on: string
}

interface Form {
  text: string
  /** Returns the name of the object, if it is not built from kind, name and table. */
  subject?: (parts: Parts) => string
}

const ofGrants = (parts: Parts) => `grants on ${parts.on} to ${parts.name}`

const FORMS = {
  schema: [{ text: `CREATE SCHEMA ${name};` }],
  extension: [{ text: `CREATE EXTENSION ${name} ` }],
  type: [{ text: `CREATE (?:TYPE|DOMAIN) ${named} ` }],
  sequence: [{ text: `CREATE SEQUENCE ${named} ` }],
  function: [{ text: 'CREATE OR REPLACE (?:FUNCTION|PROCEDURE) (?<name>[^\\n]+)' }],
  table: [{ text: `CREATE (?:UNLOGGED )?TABLE ${named}` }],
  view: [{ text: `CREATE (?:MATERIALIZED )?VIEW ${named}` }],
  column: [{ text: `(?!CONSTRAINT )${name} ` }],
  constraint: [{ text: `CONSTRAINT ${name} ` }],
  index: [{ text: `CREATE (?:UNIQUE )?INDEX ${name} ON ${on} ` }],
  statistics: [{ text: `CREATE STATISTICS ${named} ` }],
  'row security': [
    {
      text: `ALTER TABLE ${on} (?:ENABLE|FORCE) ROW LEVEL SECURITY;`,
      subject: (parts) => `row security of ${parts.on}`,
    },
  ],
  policy: [{ text: `CREATE POLICY ${name} ON ${on}(?= |;)` }],
  trigger: [
    { text: `CREATE (?:CONSTRAINT )?TRIGGER ${name} .*? ON ${on} ` },
    { text: `ALTER TABLE ${on} DISABLE TRIGGER ${name};` },
    {
      text: `CREATE RULE ${name} ON ${on};`,
      subject: (parts) => `rule ${parts.name} on ${parts.on}`,
    },
  ],
  // The privileges on a table and on its columns count as one object.
  grants: [
    { text: `GRANT .+? ON ${granted} TO ${grantee}`, subject: ofGrants },
    { text: `REVOKE ALL ON ${granted} FROM ${grantee}`, subject: ofGrants },
  ],
  'default privileges': [
    {
      text: `ALTER DEFAULT PRIVILEGES .*?GRANT .+? ON (?<on>[A-Z]+) TO ${grantee}`,
      subject: (parts) => `default privileges on ${parts.on} to ${parts.name}`,
    },
  ],
  role: [
    {
      text: `ALTER ROLE ${name} (?<on>[A-Z]+);`,
      subject: (parts) => `role ${parts.name}`,
    },
  ],
  membership: [
    {
      text: `GRANT ${named} TO (?<on>${NAME})(?= GRANTED BY |;)`,
      subject: (parts) => `membership of ${parts.on} in ${parts.name}`,
    },
  ],
  owner: [
    {
      text: `ALTER (?:TABLE|SEQUENCE|ROUTINE) (?<on>.+) OWNER TO ${name};`,
      subject: (parts) => `owner of ${parts.on}`,
    },
  ],
  comment: [{ text: 'COMMENT ON (?<name>.+?) IS ' }],
} satisfies Record<string, readonly Form[]>

export type Kind = keyof typeof FORMS | 'collation'

/**
 * Returns the name of the object, such as "policy tenant on patients". All statements about the same object return the
 * same name.
 */
export function repairSubjectOf(kind: keyof typeof FORMS, text: string): string {
  for (const form of FORMS[kind] as readonly Form[]) {
    const parts = new RegExp(`^${form.text}`).exec(text)?.groups as unknown as Parts | undefined
    if (!parts) continue
    return form.subject?.(parts) ?? `${kind} ${parts.name}${parts.on ? ` on ${parts.on}` : ''}`
  }
  throw new Error(`not a statement of the kind ${kind}: ${text.slice(0, 80)}`)
}

const KINDS_BY_BEGINNING = (Object.keys(FORMS) as (keyof typeof FORMS)[]).filter(
  (kind) => kind !== 'column' && kind !== 'constraint',
)

/** Returns the kind of a statement. @throws Error if the statement has an unknown form */
export function kindOf(text: string): keyof typeof FORMS {
  const kind = KINDS_BY_BEGINNING.find((one) =>
    FORMS[one].some((form) => new RegExp(`^${form.text}`).test(text)),
  )
  if (!kind) throw new Error(`not a statement of the schema: ${text.slice(0, 80)}`)
  return kind
}
