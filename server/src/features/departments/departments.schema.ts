/** Departments on the wire. */
import Type, { type Static } from 'typebox'
import { nameKey } from '../../lib/fold.ts'
import { defineList, pageOf } from '../../lib/page.ts'
import { Id, Name, Nullable, Timestamp } from '../../lib/shapes.ts'

export const Department = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    name: Type.String(),
    head_doctor_id: Nullable(Id),
    created_at: Timestamp,
  },
  { $id: 'Department' },
)
export type Department = Static<typeof Department>

export const DepartmentPage = pageOf(Department)

export const departmentList = defineList(
  'departments',
  { id: 'integer', name: 'text', created_at: 'time' },
  { sort_by: 'id', sort_order: 'asc' },
  { name: nameKey },
)

export const DepartmentQuery = Type.Object({
  tenant_id: Type.Optional(Id),
  search: Type.Optional(Type.String({ maxLength: 200, trim: true })),
  ...departmentList.query,
})
export type DepartmentQuery = Static<typeof DepartmentQuery>

export const NewDepartment = Type.Object({
  name: Name,
  head_doctor_id: Type.Optional(Nullable(Id)),
  tenant_id: Type.Optional(Id),
})
export type NewDepartment = Static<typeof NewDepartment>

export const DepartmentChange = Type.Object({
  name: Type.Optional(Name),
  head_doctor_id: Type.Optional(Nullable(Id)),
})
export type DepartmentChange = Static<typeof DepartmentChange>

export const DepartmentPath = Type.Object({ dept_id: Id })

export const PublicDepartment = Type.Object(
  { id: Id, name: Type.String() },
  { $id: 'PublicDepartment' },
)
export type PublicDepartment = Static<typeof PublicDepartment>

export const SubdomainQuery = Type.Object({
  subdomain: Type.String({ minLength: 1, maxLength: 63, trim: true }),
})
