import Type from 'typebox'
import { Nullable, Timestamp } from '../../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../../platform/feature/feature.ts'
import { PROVIDERS, type Provider } from '../payment-facts.ts'
import { findStuck } from './overview.store.ts'

/** Creates the payments overview. Omits unconfigured providers, because anyone can send notices in their name. */
export const paymentsAttention = (
  isConfigured: (provider: Provider) => boolean,
): OverviewParts => ({
  payment_notifications: overviewPart({
    schema: Type.Object(
      {
        unverified: Type.Integer({ minimum: 0, examples: [2] }),
        failed: Type.Integer({ minimum: 0, examples: [0] }),
        oldest_since: Nullable(Timestamp),
      },
      {
        description:
          'The unverified or failed notifications of configured payment providers, counted up to 10,000.',
      },
    ),
    isOfInstallation: true,
    async read(tx, { ofInstallation }) {
      const configured = PROVIDERS.filter(isConfigured)
      return configured.length > 0
        ? findStuck(tx, ofInstallation, configured)
        : { unverified: 0, failed: 0, oldest_since: null }
    },
  }),
})
