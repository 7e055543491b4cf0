import Type from 'typebox'
import { Nullable, Timestamp } from '../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { countActive, findWaiting } from './overview.store.ts'

export const USERS_ATTENTION: OverviewParts = {
  registrations: overviewPart({
    schema: Type.Object(
      {
        count: Type.Integer({ minimum: 0, examples: [3] }),
        oldest_since: Nullable(Timestamp),
      },
      { description: 'The registrations that are waiting for approval, counted up to 10,000.' },
    ),
    read: findWaiting,
  }),
}

export const USERS_FIGURES: OverviewParts = {
  users: overviewPart({
    schema: Type.Object(
      {
        active: Type.Integer({ minimum: 0, examples: [128] }),
        is_estimate: Type.Boolean({
          description: 'True if the number is above 10,000 and therefore an estimate.',
        }),
      },
      { description: 'The users who can sign in.' },
    ),
    read: countActive,
  }),
}
