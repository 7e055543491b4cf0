import { formatBytes, formatCount, formatNumber, formatPercent } from '../../words/numbers.ts'

const patients = (count: number) => formatCount(count, 'patient', 'patients')

/** Texts of the page "Patient cache". */
export const cacheTexts = {
  title: 'Patient cache',
  lead: 'Each node keeps decrypted patients in memory for a short time. A change on one node removes the patient from every node within a second.',
  figures: 'Figures of one node',
  node: 'Node',
  ofClinic: 'The patients of this clinic on the node that answered.',
  ofAll: 'The patients of all clinics on the node that answered.',
  hitRatio: 'Answered from the cache',
  percent: (share: number) => formatPercent(share),
  reads: (hits: number, misses: number) =>
    `${formatNumber(hits)} of ${formatCount(hits + misses, 'read', 'reads')}`,
  noReads: 'No reads yet',
  entries: 'Cached patients',
  limit: (count: number) => `The limit is ${formatNumber(count)} for all clinics together`,
  memory: 'Memory',
  memoryLimit: (bytes: number) => `The limit is ${formatBytes(bytes)} for all clinics together`,
  evictions: 'Removed to make room',
  expirations: 'Removed because of their age',
  maxAge: 'Longest age',
  acts: 'Maintenance',
  cleanUp: {
    open: 'Clean up',
    hint: 'Removes expired patients from every node.',
    done: (count: number, node: string) =>
      `Removed ${patients(count)} on ${node}. Other nodes follow within a second.`,
  },
  dropAll: {
    open: 'Drop all',
    hint: 'Removes every patient from every node. The next reads are slower, until the cache has filled again.',
    title: 'Drop all cached patients',
    bodyOfClinic: 'All cached patients of this clinic are removed from every node.',
    bodyOfAll: 'All cached patients of every clinic are removed from every node.',
  },
  dropOne: {
    open: 'Drop one',
    title: 'Drop one patient',
    hint: 'Removes one patient from every node.',
    id: 'Id of the patient',
    missing: 'Enter the id of a patient.',
    busy: 'Dropping…',
    notCached: (node: string) => `The patient was not cached on ${node}.`,
  },
  warmUp: {
    open: 'Warm up',
    title: 'Warm up the cache',
    hint: 'Loads patients into the node that answers. Shows no patient data.',
    ids: 'Ids of patients',
    idsHint: 'Separated by commas or spaces. At most 1,000.',
    missing: 'Enter the ids of patients.',
    fault: 'Enter whole numbers, at most 1,000, separated by commas or spaces.',
    busy: 'Loading…',
    done: (warmed: number, requested: number) =>
      `${formatNumber(warmed)} of ${patients(requested)} are cached now.`,
    unknown: (ids: readonly number[]) => `Unknown in this clinic: ${ids.join(', ')}.`,
  },
}
