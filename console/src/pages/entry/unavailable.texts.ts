export const unavailableTexts = {
  away: 'Wardkeep does not respond right now',
  restoring: 'A backup is being restored',
  awayLead: 'This page tries again automatically.',
  tooMany: 'Too many requests',
  tooManyLead: 'This page loads again automatically.',
  broken: 'This page could not be shown',
  brokenLead: 'Try again. If it happens again, tell your administrator.',
  tryAgain: 'Try again',
  request: 'Request',
}
