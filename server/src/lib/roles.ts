/** The roles of decisions §2. */
export const ROLES = ['superadmin', 'admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

export type Role = (typeof ROLES)[number]
