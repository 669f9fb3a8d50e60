// docs/reference/settings.md: every environment variable that the platform reads.
import {
  type Setting,
  settingsTable,
  variableName,
} from '../../packages/server/src/platform/settings/settings-table.ts';
import { code, table } from './markdown.ts';

const opening = `# Settings

Settings are environment variables. A secret can also be read from a file: add \`_FILE\` to the name of the
setting, and give the path. At the start the platform reports all invalid
settings in one message. An unknown setting that
begins with \`SWITCHYARD_\` is an error in \`demo\` and \`test\`. In \`production\` it is a warning, unless
\`SWITCHYARD_STRICT_SETTINGS\` is \`on\`. The message suggests the most similar known name.

`;

export function settingsDocument(): string {
  const settings: Setting<unknown>[] = Object.values(settingsTable);
  const rows = settings.map((setting) => [
    code(variableName(setting)),
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
    role ? `Only a process with the role ${code(role)} reads it.` : '',
    role && secret ? 'For other processes a value in the environment is an error.' : '',
  ];
  return notes.filter((note) => note !== '').join(' ');
}
