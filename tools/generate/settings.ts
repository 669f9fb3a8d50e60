// docs/reference/settings.md: every environment variable that the platform reads.
import {
  type Setting,
  settingPrefix,
  settingsTable,
} from '../../packages/server/src/platform/settings/settings-table.ts';
import { code, table } from './markdown.ts';

const opening = `# Settings

Settings are environment variables. A secret may also come from a file: \`…_FILE\` names it. Every
fault is reported at once; an unknown name with this prefix is an
error in \`demo\` and \`test\` and a warning in \`production\` (\`SWITCHYARD_STRICT_SETTINGS\`), with the nearest known one.

`;

export function settingsDocument(): string {
  const settings: Setting<unknown>[] = Object.values(settingsTable);
  const rows = settings.map((setting) => [
    code(`${settingPrefix}${setting.name}`),
    setting.type,
    defaultOf(setting),
    [setting.description, notesOf(setting)].join(' ').trim(),
  ]);
  return `${opening}${table(['Name', 'Value', 'Default', 'What it does'], rows)}\n`;
}

function defaultOf(setting: Setting<unknown>): string {
  if (setting.defaultDescription !== undefined) return setting.defaultDescription;
  return setting.default === undefined ? 'none' : code(setting.default);
}

function notesOf({ secret, environments, role }: Setting<unknown>): string {
  const notes = [
    secret ? 'A secret.' : '',
    environments ? `Only in ${environments.map(code).join(' and ')}.` : '',
    role ? `Read with the role ${code(role)} alone.` : '',
  ];
  return notes.filter((note) => note !== '').join(' ');
}
