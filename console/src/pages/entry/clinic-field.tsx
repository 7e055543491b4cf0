/** The form field for the clinic. It is shown if the URL does not name a clinic. */
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
  /**
   * Called with the subdomain when the user has typed the name of a listed clinic, and when the field loses the focus.
   */
  onSettle?: (subdomain: string) => void
}

/** Returns the welcome data of the service. */
export function useWelcome(): Welcome {
  return useQuery(welcomeQuery).data ?? UNKNOWN_WELCOME
}

/** Returns a function that converts the typed clinic to its subdomain. */
export function useClinicReader(): (typed: string) => string | undefined {
  const { tenant } = useWelcome()
  const queries = useQueryClient()
  return (typed) =>
    tenant?.subdomain ?? subdomainOf(typed, queries.getQueryData(publicTenantsQuery.queryKey) ?? [])
}

/** Asks for the clinic and suggests listed clinics. Shows nothing if the URL names the clinic. */
export function ClinicField({ required = false, onSettle }: ClinicFieldProps) {
  const { tenant, demo } = useWelcome()
  const [isReached, setReached] = useState(required)
  // Loads the list only when the field is used, because most visitors do not need it.
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
