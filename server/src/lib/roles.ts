/** The roles of users (decisions §2). */
export const ROLES = ['superadmin', 'admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

export type Role = (typeof ROLES)[number]

/** Returns true for the roles that administer a tenant or, as superadmin, the platform. */
export const isAdministrator = (role: Role): boolean => role === 'superadmin' || role === 'admin'
