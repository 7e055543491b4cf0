/** The roles of the service, in the order of menus. */
export const ROLES = ['superadmin', 'admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

/** A role of the service. */
export type Role = (typeof ROLES)[number]

/** The name of each role. */
export const roleNames: Readonly<Record<Role, string>> = {
  superadmin: 'Superadmin',
  admin: 'Admin',
  doctor: 'Doctor',
  nurse: 'Nurse',
  receptionist: 'Receptionist',
  auditor: 'Auditor',
}
