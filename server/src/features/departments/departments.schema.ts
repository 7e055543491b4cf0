import Type, { type Static } from 'typebox'
import { nameKey } from '../../lib/fold.ts'
import { defineList, pageOf } from '../../lib/page.ts'
import { described, Id, idOf, Name, Nullable, Timestamp } from '../../lib/shapes.ts'

export const Department = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    name: Type.String({ examples: ['Cardiology'] }),
    head_doctor_id: Nullable(Id),
    head_doctor_name: Nullable(Type.String({ examples: ['Dora Doctor'] })),
    members: Type.Integer({
      minimum: 0,
      description: 'Users of the department, blocked and pending ones included.',
      examples: [12],
    }),
    created_at: Timestamp,
  },
  { $id: 'Department' },
)
export type Department = Static<typeof Department>

/** The columns of a department's row. Excludes the fields of a response that come from the users. */
export type DepartmentRow = Omit<Department, 'head_doctor_name' | 'members'>

export const DepartmentPage = pageOf(Department)

export const departmentList = defineList(
  'departments',
  { id: 'integer', name: 'text', created_at: 'time' },
  { sort_by: 'id', sort_order: 'asc' },
  { name: nameKey },
)

export const DepartmentQuery = Type.Object({
  tenant_id: Type.Optional(described(Id, 'Only departments of this tenant. For superadmins.')),
  search: Type.Optional(
    Type.String({ maxLength: 200, trim: true, description: 'A part of the name.' }),
  ),
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

export const DepartmentPath = Type.Object({ dept_id: idOf('department', 12) })

export const PublicDepartment = Type.Object(
  { id: Id, name: Type.String({ examples: ['Cardiology'] }) },
  { $id: 'PublicDepartment' },
)
export type PublicDepartment = Static<typeof PublicDepartment>

export const SubdomainQuery = Type.Object({
  subdomain: Type.String({
    minLength: 1,
    maxLength: 63,
    trim: true,
    description: 'The subdomain of the tenant.',
  }),
})
