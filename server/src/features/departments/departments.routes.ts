/** The `/api/admin/departments*` routes and the route of the public list. */
import Type from 'typebox'
import { pageStartOf } from '../../lib/page.ts'
import { admins, anyone, auditors } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  Department,
  DepartmentChange,
  DepartmentPage,
  DepartmentPath,
  DepartmentQuery,
  departmentList,
  NewDepartment,
  PublicDepartment,
  SubdomainQuery,
} from './departments.schema.ts'
import type { Departments } from './departments.service.ts'

const tag = 'Departments'

export function departmentOperations(departments: Departments): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/departments',
      id: 'listDepartments',
      summary: 'List departments',
      description: 'Returns a page of departments. `search` matches a part of the name.',

      tag,
      access: auditors,
      query: DepartmentQuery,
      list: true,
      refine: (given, refuse) => pageStartOf(departmentList, given, refuse),
      success: [200, DepartmentPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => departments.list(caller, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/departments',
      id: 'createDepartment',
      summary: 'Create a department',
      description:
        "Creates a department in the caller's tenant. A superadmin can name another tenant. The head doctor must be an active doctor of the tenant.",
      records: ['department.created'],
      tag,
      access: admins,
      body: NewDepartment,
      checkReferences: ({ caller, body, faulty }, refuse) =>
        faulty.has('body.tenant_id')
          ? Promise.resolve()
          : departments.checkReferences(caller, body, refuse),
      success: [201, Department],
      refusals: ['other_tenant', 'not_found', 'department_name_taken'],
      example: { body: { name: 'Cardiology', head_doctor_id: 58 } },
      handle: ({ caller, body }) => departments.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/departments/{dept_id}',
      id: 'getDepartment',
      summary: 'Get a department',
      description: 'Returns one department.',
      tag,
      access: auditors,
      params: DepartmentPath,
      success: [200, Department],
      refusals: ['not_found'],
      handle: ({ caller, path }) => departments.get(caller, path.dept_id),
    }),
    operation({
      method: 'PUT',
      path: '/api/admin/departments/{dept_id}',
      id: 'updateDepartment',
      summary: 'Change a department',
      description:
        'Changes the fields that are sent. `head_doctor_id: null` removes the head doctor.',
      records: ['department.updated'],
      tag,
      access: admins,
      params: DepartmentPath,
      body: DepartmentChange,
      checkReferences: ({ caller, path, body, faulty }, refuse) =>
        faulty.has('path.dept_id')
          ? Promise.resolve()
          : departments.checkReferences(caller, { ...path, ...body }, refuse),
      success: [200, Department],
      refusals: ['not_found', 'department_name_taken'],
      example: { answer: { name: 'Heart Center' }, body: { name: 'Heart Center' } },
      handle: ({ caller, path, body }) => departments.update(caller, path.dept_id, body),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/departments/{dept_id}',
      id: 'deleteDepartment',
      summary: 'Delete a department',
      description: 'Deletes the department. Its users and patients stay, without a department.',
      records: ['department.deleted'],
      tag,
      access: admins,
      params: DepartmentPath,
      success: [204, null],
      refusals: ['not_found'],
      handle: ({ caller, path }) => departments.delete(caller, path.dept_id),
    }),
    operation({
      method: 'GET',
      path: '/api/auth/departments',
      id: 'listPublicDepartments',
      summary: 'List the departments of a tenant',
      description: 'Returns the departments to choose from during registration.',

      tag: 'Sign-in',
      access: anyone,
      query: SubdomainQuery,
      success: [200, Type.Array(PublicDepartment)],
      refusals: ['not_found'],
      handle: ({ query }) => departments.listPublic(query.subdomain),
    }),
  ]
}
