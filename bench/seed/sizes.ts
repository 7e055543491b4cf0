/** The amounts of data. Tenants are alike in all sizes; only their number differs. */

export interface Size {
  tenants: number
  usersPerTenant: number
  entriesPerTenant: number
  /** The number of payments, and of notifications; none by default. */
  paymentsPerTenant?: number
}

/**
 * Full sizes: 1,000,000 users and payments compared with 10,000, 5,000,000 entries with 50,000, and two clinics with a
 * long history.
 */
export const FULL = {
  large: { tenants: 1000, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  small: { tenants: 10, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  crowded: { tenants: 2, usersPerTenant: 1000, entriesPerTenant: 500_000 },
}

/** Sizes for a trial of the bench. The figures are not meaningful. */
export const QUICK = {
  large: { tenants: 50, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  small: { tenants: 5, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  crowded: { tenants: 2, usersPerTenant: 1000, entriesPerTenant: 50_000 },
}

/** The password of a tenant's first 100 users. Its hash is computed once with the service's cost, and shared. */
export const PASSWORD = 'bench: quiet harbour 41'
export const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const subdomainOf = (tenant: number) => `clinic-${tenant}`
/**
 * Returns the e-mail address of a user. A tenant's user 0 is its admin, the next users are its auditors. All except
 * user 0 have addresses of the form `user<number>@…`.
 */
export const emailOf = (tenant: number, user: number) =>
  `${user === 0 ? 'admin' : `user${user}`}@${subdomainOf(tenant)}.example`
