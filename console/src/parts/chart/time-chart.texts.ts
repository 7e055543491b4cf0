export const timeChartTexts = {
  showTable: 'Show as table',
  showChart: 'Show as chart',
  time: 'Time',
  partial: (time: string) => `${time} (so far)`,
  asTable: (title: string) => `${title}, as a table`,
  named: (action: string, title: string) => `${action}: ${title}`,
}
