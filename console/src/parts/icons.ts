/** The console's icons. Each is a path in a box of 24 by 24, drawn as lines. */
export const iconPaths = {
  account: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM4.5 20.5a7.5 7.5 0 0 1 15 0',
  arrowDown: 'M12 5v14m-5-5 5 5 5-5',
  arrowUp: 'M12 19V5m-5 5 5-5 5 5',
  audit: 'M6 3.5h8.5L18 7v13.5H6zM9 9h6M9 12.5h6M9 16h4',
  backups: 'M4.5 6.5c0-4 15-4 15 0v11c0 4-15 4-15 0zm0 0c0 4 15 4 15 0m-15 5.5c0 4 15 4 15 0',
  cache: 'M4.5 5h15v5.5h-15zM4.5 13.5h15V19h-15zM7.5 7.75h.01M7.5 16.25h.01',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  clinic: 'M4 20.5V9l8-5 8 5v11.5zM12 9.5v6M9 12.5h6',
  close: 'm6 6 12 12M18 6 6 18',
  copy: 'M9 9h10.5v10.5H9zM5.5 15h-1V4.5H15v1',
  departments: 'M9 4.5h6v5H9zM3.5 15h6v5h-6zM14.5 15h6v5h-6zM12 9.5v3m-5.5 2.5v-2.5h11V15',
  down: 'm6.5 9.5 5.5 5.5 5.5-5.5',
  healing: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 8.5v7M8.5 12h7',
  health: 'M3 12.5h4l3-7.5 4 14 3-6.5h4',
  key: 'M15.5 4.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm-2.8 6.8L4.5 19.5m2.5-2.5 2 2',
  keyboard: 'M3.5 6.5h17v11h-17zM7 10h.01M10.5 10h.01M14 10h.01M17.5 10h.01M8 14h8',
  menu: 'M4 7h16M4 12h16M4 17h16',
  monitor: 'M3.5 5h17v11h-17zM9 20h6m-3-4v4',
  moon: 'M19.5 14A8 8 0 0 1 10 4.5a8 8 0 1 0 9.5 9.5Z',
  more: 'M5 12a1 1 0 1 0 2 0 1 1 0 0 0-2 0Zm6 0a1 1 0 1 0 2 0 1 1 0 0 0-2 0Zm6 0a1 1 0 1 0 2 0 1 1 0 0 0-2 0Z',
  overview: 'M4 4.5h7v7H4zM14 4.5h6v4h-6zM14 11.5h6v8h-6zM4 14.5h7v5H4z',
  parts: 'M4.5 4.5h6v6h-6zM13.5 13.5h6v6h-6zM13.5 7.5h6m-3-3v6M7.5 13.5v6m-3-3h6',
  patients: 'M7 5.5H5v15h14v-15h-2M8.5 3.5h7v4h-7zM8 14h2l1.5-3 2 5 1-2H16',
  payments: 'M3.5 6h17v12h-17zM3.5 10h17M7 14.5h3',
  save: 'M12 4v11m-4.5-4 4.5 4.5 4.5-4.5M4.5 16v4h15v-4',
  search: 'M11 4.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm4.8 11.3 4.2 4.2',
  settings:
    'M4 7h9m4 0h3M4 17h3m4 0h9M15 4.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5ZM9 14.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z',
  sort: 'm8 10 4-4 4 4M8 14l4 4 4-4',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.5v2m0 15v2M2.5 12h2m15 0h2M5.3 5.3l1.4 1.4m10.6 10.6 1.4 1.4m0-13.4-1.4 1.4M6.7 17.3l-1.4 1.4',
  users:
    'M9 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM2.5 20a6.5 6.5 0 0 1 13 0M16 4.8a3.5 3.5 0 0 1 0 6.4m2 3.3a6.5 6.5 0 0 1 3.5 5.5',
  webhooks:
    'M12 4.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM6 14.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6Zm12 0a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM10.6 10.2l-3 4.7m5.8-4.7 3 4.7M9 17.5h6',
} as const

/** The name of an icon. */
export type IconName = keyof typeof iconPaths
