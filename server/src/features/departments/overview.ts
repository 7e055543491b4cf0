/** The figures about departments in the overview. */
import Type from 'typebox'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { countDepartments } from './departments.store.ts'

export const DEPARTMENTS_FIGURES: OverviewParts = {
  departments: overviewPart({
    schema: Type.Object({
      total: Type.Integer({ minimum: 0, examples: [12] }),
      is_estimate: Type.Boolean({
        description: 'True if the number is above 10,000 and therefore an estimate.',
      }),
    }),
    read: countDepartments,
  }),
}
