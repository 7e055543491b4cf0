/** Generates two hundred fictional patients, identical in every demo. */
import type { NewDemoPatient } from '../patients/index.ts'

const GIVEN = {
  female: ['Ada', 'Birgül', 'Chloé', 'Dörte', 'Élodie', 'Freya', 'Greta', 'Hanna', 'Ines', 'Jana'],
  male: ['Anton', 'Björn', 'César', 'Dávid', 'Emil', 'François', 'Gustav', 'Henri', 'Ilja', 'José'],
} as const
const FAMILY = [
  'Abendroth',
  'Müller-Lüdenscheidt',
  'Weiß',
  'Nowak',
  'Öztürk',
  'Sørensen',
  "O'Neill",
  'Ibáñez',
  'Kovács',
  'Lindqvist',
]
const ALLERGIES = ['Penicillin', 'Latex', 'Peanuts', 'Birch pollen', 'Ibuprofen']
const NOTES = ['Comes with a walking frame.', 'Prefers appointments in the morning.', null]

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T

/** Returns the demo patient with this index. The patient has no department and no attending doctor yet. */
export function demoPatient(
  index: number,
): Omit<NewDemoPatient, 'department_id' | 'attending_doctor_id'> {
  const sex = index % 2 === 0 ? 'female' : 'male'
  const day = String((index % 28) + 1).padStart(2, '0')
  const month = String((index % 12) + 1).padStart(2, '0')
  const number = String(index + 1).padStart(4, '0')
  return {
    full_name: `${pick(GIVEN[sex], index >> 1)} ${pick(FAMILY, Math.floor(index / 20))}`,
    birth_date: `${1930 + ((index * 37) % 90)}-${month}-${day}`,
    sex,
    identifiers: [{ system: 'demo', value: `D-${number}` }],
    // Uses domains reserved by RFC 2606 and phone numbers that the German regulator reserves for films.
    phone: `+49 30 23125 ${number.slice(-3)}`,
    email: index % 3 === 0 ? `patient${number}@demo.example` : null,
    address: `Musterstraße ${index + 1}, 12345 Musterstadt`,
    allergies: index % 4 === 0 ? [pick(ALLERGIES, index >> 2)] : [],
    notes: pick(NOTES, index),
  }
}
