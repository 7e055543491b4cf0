/** What of a second factor is sealed: its secret. */
import { type Place, placeIn, type SealedTable } from '../../../platform/crypto/index.ts'

export const SECOND_FACTORS: SealedTable = {
  table: 'second_factors',
  id: { column: 'user_id', type: 'bigint' },
  columns: ['sealed_secret'],
  formerly: { sealed_secret: 'second_factors.secret' },
}

export const secretPlace = (userId: number): Place =>
  placeIn(SECOND_FACTORS, 'sealed_secret', userId)
