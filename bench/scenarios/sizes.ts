/** The same page of a list in a small database and in a database a hundred times as large. */
import { compare } from '../measure/compare.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { userId } from '../seed/people.ts'
import { FULL } from '../seed/sizes.ts'
import { type As, pageBehind, pageOf, TENANT } from './lists.ts'
import type { Scenario } from './scenario.ts'

interface Case {
  name: string
  as: As
  path: string
  open: typeof pageOf
}

const both = (name: string, path: string, open = pageOf): Case[] => [
  { name: `${name}, auditor`, as: 'auditor', path, open },
  { name: `${name}, superadmin`, as: 'superadmin', path, open },
]

const USER_PAGES: Case[] = [
  ...both('users by name', '/api/admin/users?sort_by=full_name'),
  ...both('users, search, by name', '/api/admin/users?search=anna+ko&sort_by=full_name'),
  ...both('users, search of one address', '/api/admin/users?search=user77%40clinic-3.e'),
  ...both('doctors by creation', '/api/admin/users?role=doctor&sort_by=created_at&sort_order=desc'),
  ...both('blocked users', '/api/admin/users?is_active=false&sort_by=email'),
]

const audit = (query: string) => `/api/admin/audit?${query}`
// Tenants are alike in both sizes, so the same user of the tenant has the same id in both.
const someone = userId(FULL.large, TENANT, 5)
const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10)

const AUDIT_PAGES: Case[] = [
  ...both('audit, latest', audit('')),
  ...both('audit, by id', audit('sort_by=id&sort_order=asc')),
  ...both('audit, one action', audit('action=user.blocked')),
  ...both('audit, one user', audit(`user_id=${someone}`)),
  ...both('audit, one record', audit(`resource_type=user&resource_id=${someone}`)),
  ...both('audit, one week', audit(`from_date=${day(47)}&to_date=${day(40)}`)),
  ...both(
    'audit, an action in a week',
    audit(`action=auth.login&from_date=${day(47)}&to_date=${day(40)}`),
  ),
  ...both('audit, page 100', audit('page=100')),
  ...both('audit, behind 4,000 entries', audit(''), pageBehind),
]

const payments = (query: string) => `/api/admin/payments?${query}`
const notifications = (query: string) => `/api/admin/payment-notifications?${query}`
const someWeek = `from_date=${day(9)}&to_date=${day(2)}`

const PAYMENT_PAGES: Case[] = [
  ...both('payments, latest', payments('')),
  ...both('payments, by creation', payments('sort_by=created_at')),
  ...both('payments, authorized', payments('status=authorized')),
  ...both('payments, a rare currency', payments('currency=KWD')),
  ...both('payments, of one provider', payments('provider=paygate')),
  ...both('payments, by its name', payments('provider_payment_id=pay_77')),
  ...both('payments, a week by creation', payments(`${someWeek}&sort_by=created_at`)),
  ...both('notifications, latest', notifications('')),
  ...both('notifications, failed', notifications('state=failed')),
  ...both('notifications, one reason', notifications('reason=amount_unreadable')),
  ...both('notifications, by arrival', notifications('sort_by=received_at')),
]

const compared =
  (cases: readonly Case[]): Scenario =>
  async (environment, pace, say) => {
    const [large, small] = [
      await environment.deployment('large'),
      await environment.deployment('small'),
    ]
    const lines: Line[] = []
    for (const { name, as, path, open } of cases) {
      say(name)
      const outcome = await compare(await open(large, as, path), await open(small, as, path), pace)
      lines.push({
        name: `${name}: large against small`,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        // The ratio of the times of the large and the small database.
        ratio: 1 / outcome.ratio,
        aim: { atMost: 1.5 },
      })
    }
    return lines
  }

export const userSizes = compared(USER_PAGES)
export const auditSizes = compared(AUDIT_PAGES)
export const paymentSizes = compared(PAYMENT_PAGES)
