/** What a statement of the schema is about, and what takes it back. */

/** A name, and one that may stand behind its schema's, as the server writes them. */
export const NAME = `(?:"(?:[^"]|"")*"|[a-z_][a-z0-9_$]*)`
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
  /** What it is about, where that is more than its kind, name and table. */
  subject?: (parts: Parts) => string
  /** The statement that takes it back, where one does. */
  undo?: (parts: Parts, text: string) => string
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
      text: `ALTER TABLE ${on} ENABLE ROW LEVEL SECURITY;`,
      subject: (parts) => `row security of ${parts.on}`,
      undo: (parts) => `ALTER TABLE ${parts.on} DISABLE ROW LEVEL SECURITY;`,
    },
    {
      text: `ALTER TABLE ${on} FORCE ROW LEVEL SECURITY;`,
      subject: (parts) => `row security of ${parts.on}`,
      undo: (parts) => `ALTER TABLE ${parts.on} NO FORCE ROW LEVEL SECURITY;`,
    },
  ],
  policy: [
    {
      text: `CREATE POLICY ${name} ON ${on}(?= |;)`,
      undo: (parts) => `DROP POLICY ${parts.name} ON ${parts.on};`,
    },
  ],
  trigger: [
    {
      text: `CREATE (?:CONSTRAINT )?TRIGGER ${name} .*? ON ${on} `,
      undo: (parts) => `DROP TRIGGER ${parts.name} ON ${parts.on};`,
    },
    {
      text: `ALTER TABLE ${on} DISABLE TRIGGER ${name};`,
      undo: (parts) => `ALTER TABLE ${parts.on} ENABLE TRIGGER ${parts.name};`,
    },
    {
      text: `CREATE RULE ${name} ON ${on};`,
      subject: (parts) => `rule ${parts.name} on ${parts.on}`,
      undo: (parts) => `DROP RULE ${parts.name} ON ${parts.on};`,
    },
  ],
  // Of a table they go with those of its columns, and so come back with them.
  grants: [
    {
      text: `GRANT .+? ON ${granted} TO ${grantee}`,
      subject: ofGrants,
      undo: (parts) => `REVOKE ALL ON ${parts.on} FROM ${parts.name} CASCADE;`,
    },
    {
      text: `REVOKE ALL ON ${granted} FROM ${grantee}`,
      subject: ofGrants,
      undo: (parts) => `GRANT execute ON ${parts.on} TO ${parts.name};`,
    },
  ],
  'default privileges': [
    {
      text: `ALTER DEFAULT PRIVILEGES .*?GRANT .+? ON (?<on>[A-Z]+) TO ${grantee}`,
      subject: (parts) => `default privileges on ${parts.on} to ${parts.name}`,
      undo: (parts, text) =>
        `${text.slice(0, text.indexOf('GRANT '))}REVOKE ALL ON ${parts.on} FROM ${parts.name};`,
    },
  ],
  role: [
    {
      text: `ALTER ROLE ${name} (?<on>[A-Z]+);`,
      subject: (parts) => `role ${parts.name}`,
      undo: (parts) => `ALTER ROLE ${parts.name} NO${parts.on};`,
    },
  ],
  membership: [
    {
      text: `GRANT ${named} TO (?<on>${NAME})(?= GRANTED BY |;)`,
      subject: (parts) => `membership of ${parts.on} in ${parts.name}`,
      // With who has granted it, where that is told.
      undo: ({ name: role }, text) =>
        `REVOKE ${role} FROM ${text.slice(`GRANT ${role} TO `.length, -1)} CASCADE;`,
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

export type Kind = keyof typeof FORMS

/** @throws when the statement is of no form that it could have */
function formOf(kind: Kind, text: string): { form: Form; parts: Parts } {
  for (const form of FORMS[kind] as readonly Form[]) {
    const parts = new RegExp(`^${form.text}`).exec(text)?.groups
    if (parts) return { form, parts: parts as unknown as Parts }
  }
  throw new Error(`no ${kind}: ${text.slice(0, 80)}`)
}

/** "policy tenant on patients": what is about the same thing has the same subject. */
export function subjectOf(kind: Kind, text: string): string {
  const { form, parts } = formOf(kind, text)
  if (form.subject) return form.subject(parts)
  return `${kind} ${parts.name}${parts.on ? ` on ${parts.on}` : ''}`
}

/**
 * The statement that takes back what the server has just told of: its names are quoted by the server.
 * @throws when nothing does
 */
export function undoOf(kind: Kind, text: string): string {
  const { form, parts } = formOf(kind, text)
  if (!form.undo) throw new Error(`nothing takes back the ${kind} ${parts.name}`)
  return form.undo(parts, text)
}

const KINDS_BY_BEGINNING = (Object.keys(FORMS) as Kind[]).filter(
  (kind) => kind !== 'column' && kind !== 'constraint',
)

/** What kind of statement a text is. @throws when it is none of the schema's */
export function kindOf(text: string): Kind {
  const kind = KINDS_BY_BEGINNING.find((one) =>
    FORMS[one].some((form) => new RegExp(`^${form.text}`).test(text)),
  )
  if (!kind) throw new Error(`no statement of the schema: ${text.slice(0, 80)}`)
  return kind
}
