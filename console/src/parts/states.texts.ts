export const statesTexts = {
  nothingFound: 'Nothing found',
  pastEnd: 'Nothing on this page',
  pastEndBody: 'The list has become shorter.',
  firstPage: 'Show the first page',
  refusedAddress: 'The address asks for something that this list does not have.',
  errorTitle: 'This could not be loaded',
  requestId: 'Request',
  copyRequestId: 'Copy the request id',
  noRightTitle: 'Not available for your role',
  noRight:
    'Your role does not include this page. An administrator of your clinic can change your role.',
  stale: (clock: string) => `As of ${clock}. The latest state could not be loaded.`,
  tooMany: (wait: string) => `Too many requests. The page loads again in ${wait}.`,
  maintenanceTitle: 'Maintenance is under way',
  maintenance: 'Wardkeep is being restored or updated. This page comes back automatically.',
}
