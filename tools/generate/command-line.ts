// docs/reference/cli.md: every command with its options, from the program itself; and the exit codes.
import { estateSchema } from '../../packages/cli/src/estate/estate-file-schema.ts';
import { createProgram } from '../../packages/cli/src/program.ts';
import {
  type ExitName,
  exitCodes,
  exitMeanings,
} from '../../packages/cli/src/runtime/exit-codes.ts';
import { serverCommands } from '../admin/server-commands.ts';
import { code, table } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;
type Option = Command['options'][number];

const opening = `# The command line

\`switchyard\` is the command-line client of a platform: [how to](../how-to/merchant-developers/use-the-command-line.md).
Results go to stdout, everything else goes to stderr. With \`--json\` a result is one JSON document, a stream
is JSON Lines, and an error is one JSON document on stderr.

`;

const variables: readonly [string, string][] = [
  ['SWITCHYARD_CLI_PROFILE', 'the profile, as `--profile`'],
  ['SWITCHYARD_CLI_URL', 'the URL of the platform; if it is set, the profile is not used'],
  ['SWITCHYARD_CLI_AUTH_URL', 'the URL of the authorization server, if it differs'],
  ['SWITCHYARD_CLI_USER_DOMAIN', 'the user domain; used only together with `SWITCHYARD_CLI_URL`'],
  ['SWITCHYARD_CLI_CLIENT_ID', 'the client id; used only together with `SWITCHYARD_CLI_URL`'],
  ['SWITCHYARD_CLI_CLIENT_SECRET', 'the client secret; also for `login`'],
  ['SWITCHYARD_CLI_CLIENT_SECRET_FILE', 'the file with the client secret'],
  [
    'SWITCHYARD_CLI_CA_FILE',
    'the certificate authority of the platform, as PEM; used only together with `SWITCHYARD_CLI_URL`. For `login` use `--ca-file`',
  ],
  ['SWITCHYARD_CLI_HOME', 'the folder of profiles and tokens, in place of the XDG folder'],
  ['SWITCHYARD_CLI_TRACE', '`1` prints the stack trace of an internal error'],
  ['NO_COLOR', 'no colours'],
];

/** The program without real actions: only its descriptions are read. */
function program(): Command {
  const silent = { write: () => true };
  const runner = { toAction: () => () => Promise.resolve(), exitCode: () => 0 };
  return createProgram({ stdout: silent, stderr: silent }, runner, serverCommands);
}

function optionRow({
  flags,
  description,
  mandatory,
  argChoices,
  defaultValue,
  defaultValueDescription,
}: Option): string[] {
  const defaultText = defaultValueDescription ?? defaultValue;
  const value = defaultText === undefined ? '' : ` (${code(String(defaultText))})`;
  const required = mandatory ? ' (required)' : '';
  const choices = argChoices === undefined ? '' : `: ${argChoices.map(code).join(', ')}`;
  return [code(flags), description + choices + value + required];
}

function options(command: Command): string {
  const rows = command.options.map(optionRow);
  return rows.length === 0 ? '' : `${table(['Option', ''], rows)}\n\n`;
}

/** The meaning of arguments, which `usage` names. */
function argumentList(command: Command): string {
  const rows = command.registeredArguments
    .filter(({ description }) => description !== '')
    .map((each) => [code(each.name()), each.description]);
  return rows.length === 0 ? '' : `${table(['Argument', ''], rows)}\n\n`;
}

/** The texts that `--help` prints after the options: rules and examples. */
function notes(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => parts.push(part) }).outputHelp();
  const text = parts.join('').slice(command.helpInformation().length).trim();
  return text === '' ? '' : `\`\`\`text\n${text}\n\`\`\`\n\n`;
}

const usage = (names: string, command: Command): string => {
  const args = command.registeredArguments.map((each) => {
    const name = each.name() + (each.variadic ? '…' : '');
    return each.required ? `<${name}>` : `[${name}]`;
  });
  return [names, ...args].join(' ');
};

function* sections(command: Command, names: string, depth: number): Generator<string> {
  for (const each of command.commands) {
    const full = `${names} ${each.name()}`;
    yield `${'#'.repeat(depth)} ${full}\n\n${each.description()}\n\n`;
    if (each.commands.length === 0)
      yield `\`\`\`\n${usage(full, each)}\n\`\`\`\n\n${argumentList(each)}${options(each)}${notes(each)}`;
    yield* sections(each, full, depth + 1);
  }
}

export function commandLineDocument(): string {
  const root = program();
  const ends = (Object.keys(exitCodes) as ExitName[]).map((name) => [
    String(exitCodes[name]),
    exitMeanings[name],
  ]);
  return [
    opening,
    `## Exit codes\n\n${table(['Code', ''], ends)}\n\n`,
    `## Options of every command\n\n${options(root)}`,
    `## Variables\n\n${table(
      ['Name', ''],
      variables.map(([name, written]) => [code(name), written]),
    )}\n\n`,
    ...sections(root, 'switchyard', 2),
  ]
    .join('')
    .trimEnd()
    .concat('\n');
}

/** docs/reference/estate.schema.json: the JSON Schema of an estate file. */
export function estateSchemaDocument(): string {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...estateSchema() };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
