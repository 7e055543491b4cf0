import type { Column } from '../../parts/data-table/index.ts'
import { clinicName, useClinics } from '../../shell/clinic.ts'
import { paymentsTexts as texts } from './payments.texts.ts'

/** Adds a column of clinics, as the second one, to a list of several clinics. */
export function useClinicColumn<Row extends { readonly tenant_id: number | null }>(
  columns: readonly Column<Row>[],
  isWide: boolean,
): readonly Column<Row>[] {
  const clinics = useClinics()
  if (!isWide) return columns
  const clinic: Column<Row> = {
    id: 'clinic',
    label: texts.clinic,
    render: ({ tenant_id }) =>
      tenant_id === null ? texts.noClinic : <bdi>{clinicName(clinics, tenant_id)}</bdi>,
  }
  return columns.toSpliced(1, 0, clinic)
}
