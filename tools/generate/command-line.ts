// docs/reference/cli.md: every command with its options, as the command itself tells them; and how it ends.
import { estateSchema } from '../../packages/cli/src/estate/estate-file-schema.ts';
import { createProgram } from '../../packages/cli/src/program.ts';
import {
  type ExitName,
  exitCodes,
  exitMeanings,
} from '../../packages/cli/src/runtime/exit-codes.ts';
import { code, table } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;
type Option = Command['options'][number];

const opening = `# The command line

\`switchyard\` works with a platform from the command line: [how to](../how-to/use-the-command-line.md).
Results go to stdout and everything else to stderr. With \`--json\` a result is one JSON document, or
JSON Lines where it is a stream, and a fault is one JSON document on stderr.

`;

const variables: readonly [string, string][] = [
  ['SWITCHYARD_CLI_PROFILE', 'the profile, as `--profile`'],
  ['SWITCHYARD_CLI_URL', 'the platform: no profile is needed then'],
  ['SWITCHYARD_CLI_AUTH_URL', 'the authorization server, where it has an address of its own'],
  ['SWITCHYARD_CLI_USER_DOMAIN', 'the user domain, with `SWITCHYARD_CLI_URL`'],
  ['SWITCHYARD_CLI_CLIENT_ID', 'the application, with `SWITCHYARD_CLI_URL`'],
  ['SWITCHYARD_CLI_CLIENT_SECRET', 'its secret; also for `login`'],
  ['SWITCHYARD_CLI_CLIENT_SECRET_FILE', 'the file with its secret'],
  ['SWITCHYARD_CLI_CA_FILE', 'the certificate authority of the platform, as PEM'],
  ['SWITCHYARD_CLI_HOME', 'where profiles and tokens are kept, in place of the XDG folder'],
  ['SWITCHYARD_CLI_TRACE', '`1`: a fault of the command shows where it happened'],
  ['NO_COLOR', 'no colours'],
];

/** Nothing is run: commands are only asked what they are. */
function program(): Command {
  const silent = { write: () => true };
  const runner = { toAction: () => () => Promise.resolve(), exitCode: () => 0 };
  return createProgram({ stdout: silent, stderr: silent }, runner);
}

function optionRow({ flags, description, defaultValue }: Option): string[] {
  const value = defaultValue === undefined ? '' : ` (${code(String(defaultValue))})`;
  return [code(flags), description + value];
}

function options(command: Command): string {
  const rows = command.options.map(optionRow);
  return rows.length === 0 ? '' : `${table(['Option', ''], rows)}\n\n`;
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
      yield `\`\`\`\n${usage(full, each)}\n\`\`\`\n\n${options(each)}`;
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
    `## How it ends\n\n${table(['Code', ''], ends)}\n\n`,
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

/** docs/reference/estate.schema.json: what an estate file may hold. */
export function estateSchemaDocument(): string {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...estateSchema() };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
