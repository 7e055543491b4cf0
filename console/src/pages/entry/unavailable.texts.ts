export const unavailableTexts = {
  away: 'Wardkeep does not respond right now',
  awayLead: 'This page tries again automatically.',
  broken: 'This page could not be shown',
  brokenLead: 'Try again. If it happens again, tell your administrator.',
  tryAgain: 'Try again',
  request: 'Request',
}
