export const timeRangeTexts = {
  label: 'Time range',
  recent: { '1h': '1 h', '24h': '24 h', '7d': '7 d', '30d': '30 d' },
  all: 'All',
  own: 'Custom',
  from: 'From',
  to: 'To',
  apply: 'Apply',
  order: 'The end must be after the start.',
  missing: 'Enter both times.',
  zone: (zone: string) => `Times are in ${zone}.`,
  wholeDays: 'Dates without a time are whole days in UTC.',
}
