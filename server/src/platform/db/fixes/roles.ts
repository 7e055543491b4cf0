/** The fix of the roles that the service runs as: what one may beyond what it was made with is a back door. */
import type { Fix, Repaired } from '../../fix.ts'
import { APP_ROLE, PLATFORM_ROLE } from '../connection.ts'
import { drift, type Words } from './drift.ts'
import type { Ground } from './ground.ts'
import { type Kind, subjectOf } from './statement.ts'

const WORDS: Words = {
  key: 'database.roles',
  title: 'A role of the service may more than it was made for',
  description:
    'A role that the service runs as may sign in, pass by row-level security or make roles, is a member of another role, or has a member that owns no database: a way past the walls between tenants that no privilege shows. Roles belong to the whole server.',
  severity: 'critical',
  plan: 'Takes back what the role may beyond what the service has made it with, its memberships, and it from members who are neither superusers nor own a database of the server, in one transaction for each. What the owner of the tables may not take back, a superuser does by the runbook.',
  runbook: 'schema-drift.md',
}

/**
 * Whether a role inherits is no matter while it is a member of none. The owners of other databases may have
 * a service of their own there, on the same roles. Who granted a membership is told of from PostgreSQL 16 on.
 */
const SURPLUS = `
  with ours as (
      select oid, rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin
      from pg_roles where rolname in ('${APP_ROLE}', '${PLATFORM_ROLE}')),
    owner as (
      select relowner as id from pg_class where oid = 'public.migrations'::regclass
      union select datdba from pg_database
      union select oid from pg_roles where rolsuper)
  select 'role' as kind, format('ALTER ROLE %I %s;', rolname, word) as text
  from ours, lateral (
    values ('SUPERUSER', rolsuper), ('BYPASSRLS', rolbypassrls), ('CREATEROLE', rolcreaterole),
      ('CREATEDB', rolcreatedb), ('REPLICATION', rolreplication), ('LOGIN', rolcanlogin)) v (word, holds)
  where holds
  union all
  select 'membership', format('GRANT %s TO %s%s;', roleid::regrole, member::regrole,
    case when current_setting('server_version_num')::int >= 160000 then ' GRANTED BY ' || grantor::regrole end)
  from pg_auth_members
  where member in (select oid from ours)
    or roleid in (select oid from ours) and member not in (select id from owner)
  order by text`

interface Surplus {
  kind: Extract<Kind, 'role' | 'membership'>
  text: string
}

const FORBIDDEN = '42501'

export function roles(ground: Ground): Fix {
  const fix = drift(ground, WORDS, async (ask) => {
    const found = await ask<Surplus>(SURPLUS)
    const live = found.map(({ kind, text }) => {
      const subject = subjectOf(kind, text)
      return { kind, subject, head: subject, text }
    })
    return { expected: [], live }
  })
  return {
    ...fix,
    async repair(...asked) {
      try {
        return (await fix.repair?.(...asked)) as Repaired
      } catch (error) {
        if ((error as { code?: string }).code !== FORBIDDEN) throw error
        throw new Error(
          'the owner of the tables may not take it back: a superuser does, as the runbook says',
          { cause: error },
        )
      }
    },
  }
}
