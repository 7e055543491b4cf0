import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Palette, type PaletteGroup, type PaletteItem } from '../parts/palette.tsx'
import { usePaused } from '../parts/paused.ts'
import { addressOf, useClinicId } from './clinic.ts'
import { type FoundRecord, findDepartments, findPeople } from './find.ts'
import { type ConsolePage, pagesFor } from './pages.ts'
import { usePersonHere } from './person.ts'
import { SEARCHED_PATHS, searchLabel } from './search-label.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** The lists that are searched. Each is identified by the path of the page that opens its records. */
const finders = [
  { path: SEARCHED_PATHS.people, label: texts.found.people, icon: 'users', find: findPeople },
  {
    path: SEARCHED_PATHS.departments,
    label: texts.found.departments,
    icon: 'departments',
    find: findDepartments,
  },
] as const

type Finder = (typeof finders)[number]

/**
 * The search over pages, users and departments. It requests records after two letters, when the user has stopped
 * typing.
 */
export function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const { role } = usePersonHere()
  const pages = pagesFor(role)
  const open = useOpen()
  const paused = usePaused(text)
  // Hides records that match an earlier text, because the user could open them by mistake.
  const isCurrent = paused === text
  const people = useFound(finders[0], pages, paused)
  const departments = useFound(finders[1], pages, paused)
  return (
    <Palette
      label={searchLabel(role)}
      groups={[
        { label: texts.found.pages, items: pageItems(pages, text, open) },
        recordGroup(finders[0], (isCurrent && people.data) || [], open),
        recordGroup(finders[1], (isCurrent && departments.data) || [], open),
      ]}
      isSearching={!isCurrent || people.isFetching || departments.isFetching}
      onSearch={setText}
      onClose={onClose}
    />
  )
}

type Open = (page: Pick<ConsolePage, 'path' | 'isPlatform'>, record?: number) => void

function useOpen(): Open {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const navigate = useNavigate()
  return (page, record) =>
    void navigate({
      to: addressOf(page, person, clinicId),
      ...(record !== undefined && { search: { open: record } }),
    })
}

function useFound(finder: Finder, pages: readonly ConsolePage[], text: string) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['found', finder.path, clinicId, text],
    queryFn: () => finder.find(text, clinicId),
    enabled: text.length >= 2 && pages.some(({ path }) => path === finder.path),
  })
}

function pageItems(pages: readonly ConsolePage[], text: string, open: Open): PaletteItem[] {
  const wanted = text.toLocaleLowerCase()
  return pages.flatMap((page) => {
    if (!page.navigation || !page.title.toLocaleLowerCase().includes(wanted)) return []
    const { title, navigation } = page
    return [{ id: page.path, label: title, icon: navigation.icon, onChoose: () => open(page) }]
  })
}

function recordGroup(finder: Finder, records: readonly FoundRecord[], open: Open): PaletteGroup {
  return {
    label: finder.label,
    items: records.map(({ id, label, hint }) => ({
      id: `${finder.path}-${id}`,
      label,
      hint,
      icon: finder.icon,
      onChoose: () => open(finder, id),
    })),
  }
}
