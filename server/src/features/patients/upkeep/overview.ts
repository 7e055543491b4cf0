import Type from 'typebox'
import { type OverviewParts, overviewPart } from '../../../platform/feature/feature.ts'
import { estimatePatients } from './upkeep.store.ts'

export const PATIENTS_FIGURES: OverviewParts = {
  patients: overviewPart({
    schema: Type.Object({
      total: Type.Integer({ minimum: 0, examples: [20_000] }),
      is_estimate: Type.Boolean({
        description: 'True if the number is above 10,000 and therefore an estimate.',
      }),
    }),
    read: estimatePatients,
  }),
}
