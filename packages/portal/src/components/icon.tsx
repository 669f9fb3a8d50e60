/** The icons of the portal: SVG strokes in a 24 by 24 square, in the text colour. */
const paths = {
  home: 'M4 11 12 4l8 7M6 9.5V20h4.5v-5h3v5H18V9.5',
  payments: 'M3 6.5h18v11H3zM3 10h18M6.5 14.5h4',
  qr: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2.5v2.5H14zM17.5 17.5H20V20h-2.5zM20 14h-.01M14 20h-.01',
  analytics: 'M4 20h16M7 16v-4M12 16V6M17 16v-7',
  settlements: 'M4 20h16M5 9.5 12 5l7 4.5zM7 9.5V17M12 9.5V17M17 9.5V17M5 17h14',
  exports: 'M12 4v11m-4-4 4 4 4-4M5 19.5h14',
  terminal:
    'M6 3.5h12v17H6zM9 7h6v3.5H9zM9 14h.01M12 14h.01M15 14h.01M9 17h.01M12 17h.01M15 17h.01',
  merchants:
    'M4 10V20h16V10M3 7l2-3.5h14L21 7c0 3-4 3.5-4.5.5C16 10.5 12 10.5 12 7.5 12 10.5 8 10.5 7.5 7.5 7 10.5 3 10 3 7M10 20v-5h4v5',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-3.5 2.5-5.5 6-5.5s6 2 6 5.5M16 4.5a3.5 3.5 0 0 1 0 6M17.5 14.800c2.200.7 3.5 2.5 3.5 5.200',
  applications: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 16.5h7M16.5 13v7',
  webhooks:
    'M12 8a2.5 2.5 0 1 0-2.200-1.300L6.5 13M6 18.5a2.5 2.5 0 1 0-1-4.800M18 18.5a2.5 2.5 0 1 0-2-4H9.5M14 6.5l3 6',
  audit: 'M6 3.5h9l3.5 3.5v13.5H6zM9 12l2 2 4-4M9 17.5h6',
  logs: 'M5 5h14M5 9.5h14M5 14h9M5 18.5h6',
  events: 'M13 3 5.5 13.5H11L10 21l8-10.5h-5.500z',
  health: 'M3 12h4l2.5-6 4 12 2.5-6h5',
  book: 'M4 5.5C7 4 10 4 12 5.5 14 4 17 4 20 5.5V19c-3-1.5-6-1.5-8 0-2-1.5-5-1.5-8 0zM12 5.5V19',
  services: 'M12 3.5 20 8v8l-8 4.5L4 16V8zM4 8l8 4.5L20 8M12 12.5v8',
  configuration: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4',
  filter: 'M4 5h16l-6.5 8v6l-3-2v-4z',
  bookmark: 'M7 4h10v16l-5-4-5 4z',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5 10 17.5 19 7',
  copy: 'M8 8h11v12H8zM5 16V4h11',
  chevronDown: 'M6 9.5l6 6 6-6',
  chevronRight: 'M9.5 6l6 6-6 6',
  chevronLeft: 'M14.5 6l-6 6 6 6',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2.5V5M12 19v2.5M2.5 12H5M19 12h2.5M5.300 5.300 7 7M17 17l1.700 1.700M18.700 5.300 17 7M7 17l-1.700 1.700',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4 7 7 0 0 0 20 14.5',
  display: 'M3 5h18v11H3zM9 20h6M12 16v4',
  language: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5c0-4 3-6 7.5-6s7.5 2 7.5 6',
  signOut: 'M14 4H5v16h9M10 12h10m-3.5-3.5L20 12l-3.5 3.5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  plus: 'M12 5v14M5 12h14',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  refresh: 'M19.5 12a7.5 7.5 0 1 1-2.200-5.300L20 9.5M20 4.5v5h-5',
  alert: 'M12 4 21 19.5H3zM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8h.01',
  offline:
    'M3 3l18 18M8.5 15.5a5 5 0 0 1 7 0M5 12a10 10 0 0 1 4-2.400M19 12a10 10 0 0 0-5-2.700M12 19h.01',
  receipt: 'M6 3.5h12v17l-2-1.5-2 1.5-2-1.5-2 1.5-2-1.5-2 1.5zM9 8h6M9 12h6',
  refund: 'M9 7 4.5 11.5 9 16M4.5 11.5H15a4.5 4.5 0 0 1 0 9h-2',
  capture: 'M12 4v9m-3.5-3.5L12 13l3.5-3.5M4.5 14v5.5h15V14',
  ban: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M6 6l12 12',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.700-5.700L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.700 5.700L12 17',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  device: 'M7 3h10v18H7zM11 18h2',
  key: 'M8 15.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 11.5h9M17.5 11.5V15M20.5 11.5V14',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.5 2',
  play: 'M8 5v14l11-7z',
  store: 'M4 20V9l8-5 8 5v11M9 20v-6h6v6',
  mail: 'M3 6h18v12H3zM3 7l9 6.5L21 7',
  columns: 'M4 5h16v14H4zM9.5 5v14M14.5 5v14',
  imports: 'M12 15V4m-4 4 4-4 4 4M5 13v6.5h14V13',
  till: 'M4 10.5h16v9H4zM8 10.5V4.5h8v6M8 14.5h.01M12 14.5h.01M16 14.5h.01M4 17h16',
} as const;

export type IconName = keyof typeof paths;

/** Hidden from screen readers; the text beside it has the meaning. */
export function Icon({
  name,
  size = 18,
}: {
  readonly name: IconName;
  readonly size?: number | undefined;
}) {
  return (
    <svg
      className="sy-icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
