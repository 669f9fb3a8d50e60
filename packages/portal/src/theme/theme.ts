/** The Mantine theme. The colours are in tokens.css. */
import {
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  type MantineThemeOverride,
} from '@mantine/core';

const harbour: MantineColorsTuple = [
  '#eef4fd',
  '#dbe8fb',
  '#b8d2f8',
  '#a3c6ff',
  '#8bb8ff',
  '#3f7fe0',
  '#1b62cf',
  '#0a4fb5',
  '#083f91',
  '#072f6c',
];
const slate: MantineColorsTuple = [
  '#f6f8fa',
  '#eef1f5',
  '#e1e6ec',
  '#d0d7e0',
  '#b4becb',
  '#8a96a5',
  '#667384',
  '#526070',
  '#334050',
  '#16202c',
];
const night: MantineColorsTuple = [
  '#e8edf3',
  '#c6cfd9',
  '#a5b1be',
  '#7d8a99',
  '#3b4653',
  '#303a46',
  '#222b36',
  '#181f27',
  '#12181f',
  '#0d1217',
];

export const theme: MantineThemeOverride = createTheme({
  primaryColor: 'harbour',
  primaryShade: { light: 7, dark: 6 },
  colors: { harbour, gray: slate, dark: night },
  black: '#16202c',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '650',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  defaultRadius: 'sm',
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '12px', xl: '16px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', checkIconPosition: 'right' } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.45 },
        // The header of a dialog would count as a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
    },
    // A menu contains only items, and the first takes the focus.
    Menu: {
      defaultProps: { shadow: 'md', position: 'bottom-end', withInitialFocusPlaceholder: false },
    },
  },
});

/** The default dimmed and placeholder colours of Mantine have too little contrast. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-text': 'var(--sy-ink)',
    '--mantine-color-body': 'var(--sy-paper)',
    '--mantine-color-dimmed': 'var(--sy-soft)',
    '--mantine-color-placeholder': 'var(--sy-faint)',
    '--mantine-color-anchor': 'var(--sy-accent)',
    '--mantine-color-error': 'var(--sy-bad)',
    '--mantine-color-default-border': 'var(--sy-edge)',
    '--mantine-color-default': 'var(--sy-paper)',
    '--mantine-color-default-hover': 'var(--sy-wash)',
  },
  dark: {
    '--mantine-color-text': 'var(--sy-ink)',
    '--mantine-color-body': 'var(--sy-paper)',
    '--mantine-color-dimmed': 'var(--sy-soft)',
    '--mantine-color-placeholder': 'var(--sy-faint)',
    '--mantine-color-anchor': 'var(--sy-accent)',
    '--mantine-color-error': 'var(--sy-bad)',
    '--mantine-color-default-border': 'var(--sy-edge)',
    '--mantine-color-default': 'var(--sy-paper)',
    '--mantine-color-default-hover': 'var(--sy-wash)',
  },
});
