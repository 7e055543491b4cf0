/** The field that names a clinic, where the address does not. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import {
  publicTenantsQuery,
  UNKNOWN_WELCOME,
  type Welcome,
  welcomeQuery,
} from '../../api/welcome.ts'
import { Field } from '../../parts/form-fields.tsx'
import { clinicTexts as texts } from './clinic.texts.ts'
import { lastClinic, subdomainOf } from './clinic.ts'

interface ClinicFieldProps {
  required?: boolean
  /** Called with the subdomain once a listed clinic is typed, and when the field is left. */
  onSettle?: (subdomain: string) => void
}

/** Returns what the service offers to visitors. */
export function useWelcome(): Welcome {
  return useQuery(welcomeQuery).data ?? UNKNOWN_WELCOME
}

/** Returns a function that turns the typed clinic into the subdomain to send. */
export function useClinicReader(): (typed: string) => string | undefined {
  const { tenant } = useWelcome()
  const queries = useQueryClient()
  return (typed) =>
    tenant?.subdomain ?? subdomainOf(typed, queries.getQueryData(publicTenantsQuery.queryKey) ?? [])
}

/** Asks for the clinic with suggestions. Shows nothing when the address names it. */
export function ClinicField({ required = false, onSettle }: ClinicFieldProps) {
  const { tenant, demo } = useWelcome()
  const [isReached, setReached] = useState(required)
  // The list costs a request, which most visits do not need.
  const listed = useQuery({ ...publicTenantsQuery, enabled: isReached && !tenant }).data ?? []
  const list = useId()
  if (tenant) return null
  return (
    <>
      <Field
        name="subdomain"
        label={texts.label}
        hint={required ? texts.hintRequired : texts.hint}
        missing={texts.missing}
        required={required}
        defaultValue={lastClinic() || demo?.subdomain}
        list={list}
        maxLength={63}
        autoComplete="organization"
        autoCapitalize="none"
        spellCheck={false}
        onFocus={() => setReached(true)}
        onChange={({ target }) => {
          const subdomain = subdomainOf(target.value, listed)
          if (listed.some((clinic) => clinic.subdomain === subdomain)) onSettle?.(subdomain ?? '')
        }}
        onBlur={({ target }) => onSettle?.(subdomainOf(target.value, listed) ?? '')}
      />
      <datalist id={list}>
        {listed.map(({ subdomain, name }) => (
          <option key={subdomain} value={subdomain}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  )
}
