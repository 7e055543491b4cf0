import Type from 'typebox'
import { Hourly, perHour, total } from '../../lib/hours.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { type Activity, countActivity } from './overview.store.ts'

const Count = Type.Integer({ minimum: 0, examples: [649] })

export const AUDIT_FIGURES: OverviewParts = {
  activity: overviewPart({
    schema: Type.Object(
      {
        sign_ins: Count,
        refused_sign_ins: Count,
        changes: Count,
        is_estimate: Type.Boolean({
          description:
            'True if any quarter of an hour has more than 250 audit entries, so that counts are estimated.',
        }),
        hourly: Type.Object({
          sign_ins: Hourly('Sign-ins'),
          refused_sign_ins: Hourly('Refused sign-ins'),
          changes: Hourly('Changes'),
        }),
      },
      { description: 'The sign-ins and changes of the last 24 hours.' },
    ),
    async read(tx, { since }) {
      const steps = await countActivity(tx, since)
      const series = (name: Exclude<keyof Activity, 'factor'>) =>
        perHour(steps.map((step) => step[name]))
      const hourly = {
        sign_ins: series('sign_ins'),
        refused_sign_ins: series('refused'),
        changes: series('changes'),
      }
      return {
        sign_ins: total(hourly.sign_ins),
        refused_sign_ins: total(hourly.refused_sign_ins),
        changes: total(hourly.changes),
        is_estimate: steps.some(({ factor }) => factor > 1),
        hourly,
      }
    },
  }),
}
